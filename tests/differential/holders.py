"""What a loader may keep tensors in: how it starts, keeps, reads and drops, as templates of statements.

`{h}` is the holder's own variable and `{t}` an expression of a tensor.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Holder:
    """The statements of one holder; each kind is chosen from at random.

    `takes` read one item of several, or until none is left: the linter knows neither places nor lengths, so
    they come after the loop, and only where one statement keeps.
    `keyed` holders get one keeping statement in a program: a second one might always overwrite what the first
    kept under the same key in the same step, and the linter does not tell keys apart.
    `makes` holders keep objects that are made in the step. Where these are made in a branch and dropped in every
    step, the linter takes the object of an earlier step, which nothing holds any more, for the newest one.
    """

    start: str
    keeps: tuple[str, ...]
    reads: tuple[str, ...]
    drops: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    keyed: bool = False
    makes: bool = False


LIST_READS = (
    "for tensor in {h}:\n    use(out, tensor)",
    "for place, tensor in enumerate({h}):\n    use(out, tensor * place)",
    "use_all(out, {h})",
    "if {h}:\n    use(out, torch.cat([tensor.flatten() for tensor in {h}]))",
    "out.extend(float(tensor.sum()) for tensor in reversed({h}))",
    "out.append(len({h}))",
    "out.extend(tensor.numel() for tensor in {h})",
    "out.append(sum(len(tensor.shape) for tensor in {h}))",
)

LIST_TAKES = ("if {h}:\n    use(out, {h}[-1])", "if {h}:\n    use(out, {h}.pop())",
              "while {h}:\n    use(out, {h}.pop())")  # fmt: skip

TENSORS = Holder(
    "{h} = []",
    (
        "{h}.append({t})",
        "{h} += [{t}]",
        "{h}.extend([{t}, {t}])",
        "{h} = [*{h}, {t}]",
        "{h} = {h} + [{t}]",
        "{h} = [{t}]",
        "{h}.insert(0, {t})",
        "keep({h}, {t})",
        "{h}.append(top({t}))",
        "{h}.append(owned({t}))",
        "{h}.extend({t}.chunk(2))",
        "{h}.extend(part for part in {t}.split(1))",
        "{h} += [part for part in {t}.unbind(0)]",
        "for part in {t}.unbind(0):\n    {h}.append(part)",
        "other = {t}\n{h}.append(other)",
        "if (other := {t}).numel():\n    {h}.append(other)",
    ),
    LIST_READS,
    ("{h}.clear()", "{h} = []", "del {h}[:]"),
    LIST_TAKES,
)
# Taken out again in the step that put it in, or not.
STACK = Holder(
    "{h} = []",
    (
        "{h}.append({t})\nuse(out, {h}.pop())",
        "{h}.append({t})\n{h}.append({t})\nuse(out, {h}.pop())",
        "{h}.append({t})\nif random() < 0.5:\n    use(out, {h}.pop())",
        "{h}.append({t})\ndel {h}[-1]",
    ),
    LIST_READS,
    keyed=True,
)
BRIEF = Holder(
    "{h} = {}",
    (
        "{h}[name] = {t}\nuse(out, {h}.pop(name))",
        "{h}[name] = {t}\ndel {h}[name]",
        "{h}[name] = {t}\nif random() < 0.5:\n    {h}.pop(name)",
        "{h}[name] = {t}\n{h}[name] = {t}.clone()",
        "{h}[name] = {t}\nkey = name + 'x'\n{h}.pop(key, None)",
        "key = name[0]\n{h}[key] = {t}\nkey = key + 'x'\n{h}.pop(key, None)",
    ),
    (
        "for tensor in {h}.values():\n    use(out, tensor)",
        "for key in {h}:\n    use(out, {h}[key])",
        "out.append(len({h}))",
    ),
    keyed=True,
)
# What is kept depends on the same condition as whether it was copied.
CHOSEN = Holder(
    "{h} = []",
    (
        "late = random() < 0.5\nother = {t}.clone() if late else {t}\nif late:\n    {h}.append(other)",
        "late = random() < 0.5\nother = {t}.clone() if late else {t}\nif not late:\n    {h}.append(other)",
        "other = {t}\nlate = random() < 0.5\nif late:\n    other = other.clone()\nif late:\n    {h}.append(other)",
        "other = {t}\nlate = random() < 0.5\nif not late:\n    other = other.clone()\n"
        "if late and random() < 0.5:\n    {h}.append(other)",
        "late = random() < 0.5\nother = {t}.clone() if late else {t}\nlate = random() < 0.5\n"
        "if late:\n    {h}.append(other)",
    ),
    LIST_READS,
    ("{h}.clear()",),
)
SLOTS = Holder(
    "{h} = Slots()",
    ("{h}[name] = {t}", "{h}(name, {t})"),
    (
        "use_all(out, {h}.all)",
        "for key in list({h}.tensors):\n    use(out, {h}[key])",
        "out.append(len({h}.all))",
    ),
    keyed=True,
)
COPIES = Holder("{h} = Copies()", SLOTS.keeps, SLOTS.reads, keyed=True)
# Full once in two steps: nothing may empty it in between.
BATCH = Holder(
    "{h} = []",
    (
        "{h}.append({t})\nif len({h}) == 2:\n    use_all(out, {h})\n    {h} = []",
        "{h}.append({t})\nif len({h}) == 2:\n    one, two = {h}\n    use_all(out, (one, two))\n"
        "    {h}.clear()",
    ),
    LIST_READS,
    keyed=True,
)
PAIRS = Holder(
    "{h} = []",
    (
        "{h}.append((name, {t}))",
        "entry = (name, {t})\n{h}.append(entry)",
        "{h} += [(name, {t})]",
        "{h}.extend(zip([name, name], {t}.chunk(2)))",
    ),
    (
        "for key, tensor in {h}:\n    use(out, tensor)",
        "for entry in {h}:\n    use(out, entry[1])",
        "out.extend(len(key) for key, tensor in {h})",
        "use_all(out, [tensor for key, tensor in {h}])",
        "use_all(out, map(lambda entry: entry[1], {h}))",
        "for key, tensor in sorted({h}, key=lambda entry: entry[0]):\n    use(out, tensor)",
        "for (key, tensor), place in zip({h}, range(9)):\n    use(out, tensor)",
        "for key, tensor in filter(lambda entry: entry[0], {h}):\n    use(out, tensor)",
    ),
    ("{h}.clear()", "{h} = []"),
    (
        "if {h}:\n    key, tensor = {h}[0]\n    use(out, tensor)",
        "for tensor in dict({h}).values():\n    use(out, tensor)",
    ),
)
TABLE = Holder(
    "{h} = {}",
    (
        "{h}[name] = {t}",
        "{h}.setdefault(name, {t})",
        "{h}.update({name: {t}})",
        "{h} = {**{h}, name: {t}}",
        "{h} = {name: {t}}",
        "put({h}, name, {t})",
        "{h}[name[0]] = {t}",
        "try:\n    {h}[name] = {t}\nfinally:\n    out.append(len({h}))",
    ),
    (
        "for tensor in {h}.values():\n    use(out, tensor)",
        "for key, tensor in {h}.items():\n    use(out, tensor)",
        "for key in {h}:\n    use(out, {h}[key])",
        "for key in sorted({h}):\n    use(out, {h}.get(key))",
        "use_all(out, {h}.values())",
        "use_all(out, list({h}.values()))",
        "out.extend(len(key) for key in {h})",
        "out.extend(tensor.numel() for tensor in {h}.values())",
    ),
    ("{h}.clear()", "{h} = {}"),
    ("if {h}:\n    key, tensor = {h}.popitem()\n    use(out, tensor)",),
    keyed=True,
)
# Waits for a partner that comes in a later step.
PENDING = Holder(
    "{h} = {}",
    (
        "if name[0] in {h}:\n    use_all(out, [{h}.pop(name[0]), {t}])\nelse:\n    {h}[name[0]] = {t}",
        "if name[0] in {h}:\n    other = {h}[name[0]]\n    use(out, other)\n{h}[name[0]] = {t}",
        "{h}.setdefault(name[0], {})[name] = {t}\nif len({h}[name[0]]) == 2:\n"
        "    use_all(out, {h}.pop(name[0]).values())",
        "{h}.setdefault(name[0], []).append({t})\n"
        "if len({h}[name[0]]) == 2:\n    use_all(out, {h}.pop(name[0]))",
    ),
    ("out.append(len({h}))",),
    keyed=True,
)
# Dropped by no step: the variable of a reading loop would hold on to the old list, which the linter then takes
# for the new one.
GROUPS = Holder(
    "{h} = defaultdict(list)",
    (
        "{h}[name[0]].append({t})",
        "{h}[name[0]] += [{t}]",
        "keep({h}[name[0]], {t})",
    ),
    (
        "for tensors in {h}.values():\n    use_all(out, tensors)",
        "for key, tensors in {h}.items():\n    for tensor in tensors:\n        use(out, tensor)",
        "use_all(out, chain.from_iterable({h}.values()))",
        "out.extend(len(tensors) for tensors in {h}.values())",
    ),
    keyed=True,
)
NESTED = Holder(
    "{h} = {}",
    (
        "{h}.setdefault(name[0], {})[name] = {t}",
        "{h}[name[0]] = {'tensor': {t}, 'name': name}",
    ),
    (
        "for inner in {h}.values():\n    for key in inner:\n        if not isinstance(inner[key], str):\n"
        "            use(out, inner[key])",
        "out.extend(len(inner) for inner in {h}.values())",
    ),
    ("{h}.clear()", "{h} = {}"),
    keyed=True,
    makes=True,
)
VARIABLE = Holder(
    "{h} = None",
    (
        "{h} = {t}",
        "if {h} is not None:\n    use(out, {h})\n{h} = {t}",
        "{h}, *others = {t}.unbind(0)",
        "others, {h} = {t}.chunk(2)",
        "{h} = other = {t}",
    ),
    (
        "if {h} is not None:\n    use(out, {h})",
        "use(out, torch.zeros(1) if {h} is None else {h})",
        "out.append(0 if {h} is None else {h}.numel())",
    ),
    ("{h} = None",),
)
FIRST = Holder("{h} = None", ("{h} = {t} if {h} is None else {h}",), VARIABLE.reads, VARIABLE.drops)
PAIR = Holder(
    "{h} = None",
    (
        "{h} = (name, {t})",
        "{h} = name, {t}, name[0]",
        "if {h}:\n    use(out, {h}[1] * 2)\n{h} = (name, {t})",
    ),
    ("if {h}:\n    use(out, {h}[1])", "if {h}:\n    key, tensor, *others = {h}\n    use(out, tensor)",
     "if {h}:\n    out.append(len({h}[0]))"),
    ("{h} = None", "{h} = ()"),
)  # fmt: skip
JOBS = Holder(
    "{h} = []",
    (
        "{h}.append(lambda tensor={t}: use(out, tensor))",
        "{h}.append(partial(use, out, {t}))",
        "{h}.append(partial(Item(name, {t}).load, out))",
        "def job(tensor={t}):\n    use(out, tensor)\n{h}.append(job)",
    ),
    (
        "for job in {h}:\n    job()",
        "out.append(len({h}))",
    ),
    ("{h}.clear()", "{h} = []"),
    makes=True,
)
# Read after the loop alone: functions that calls of one function made share its variables, as the linter sees it,
# and of those that a step reads, it sees only the newest.
CLOSURES = Holder(
    "{h} = []",
    ("{h}.append(loading(out, {t}))",),
    ("out.append(len({h}))",),
    ("{h} = []",),
    ("for job in {h}:\n    job()",),
    makes=True,
)
ITEMS = Holder(
    "{h} = []",
    ("{h}.append(Item(name, {t}))", "item = Item(name, {t})\n{h}.append(item)"),
    (
        "for item in {h}:\n    use(out, item.tensor)",
        "for item in {h}:\n    item.load(out)",
        "out.extend(len(item.name) for item in {h})",
    ),
    ("{h}.clear()", "{h} = []"),
    makes=True,
)
SLOT = Holder(
    "{h} = Item('', None)",
    ("{h}.tensor = {t}", "{h}.keep({t})"),
    (
        "if {h}.tensor is not None:\n    use(out, {h}.tensor)",
        "if {h}.tensor is not None:\n    {h}.load(out)",
        "out.append(len({h}.name))",
    ),
    ("{h}.tensor = None",),
)
RECORD = Holder("{h} = Item('', None)", ("{h} = Item(name, {t})",), SLOT.reads, ("{h} = Item('', None)",))
QUEUE = Holder(
    "{h} = deque()",
    (
        "{h}.append({t})",
        "{h}.appendleft({t})",
        "{h}.extend([{t}])",
    ),
    LIST_READS,
    ("{h}.clear()", "{h} = deque()"),
    LIST_TAKES,
)
AHEAD = Holder(
    "{h} = deque()",
    ("{h}.append({t})\nif len({h}) > 1:\n    use(out, {h}.popleft())",),
    LIST_READS,
    takes=LIST_TAKES,
)
NAMES = Holder(
    "{h} = {}",
    (
        "{h}[name] = {t}.shape",
        "{h}[name] = float({t}.sum())",
        "{h}[name] = ({t}.numel(), {t}.dtype)",
        "{h}[name] = {t}.sum().item()",
        "{h}[name] = {t}.tolist()",
    ),
    ("out.extend(str(value) for value in {h}.values())", "out.append(len({h}))"),
    ("{h}.clear()",),
)
HOLDERS = (
    TENSORS, TENSORS, STACK, BRIEF, CHOSEN, SLOTS, COPIES, BATCH, PAIRS, PENDING, TABLE, TABLE, GROUPS, NESTED,
    VARIABLE, VARIABLE, FIRST, PAIR, JOBS, CLOSURES, ITEMS, SLOT, RECORD, QUEUE, AHEAD, NAMES,
)  # fmt: skip
