"""How a lent tensor is made unreadable: the back ends, and the choice among them."""
