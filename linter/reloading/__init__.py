"""How loaders answer and what they leave registered: facts that show in a function's tree, without any lease."""
