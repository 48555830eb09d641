"""Random loaders, judged by the linter and run under the guard: how often the two agree.

Prints each program on which they do not, made small, and exits with 1 if there is one. With --repairs the programs are
repaired instead: each has to load the same as before, and nothing stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "differential"))


from comparing import compare  # noqa: E402
from random_programs import random_program  # noqa: E402
from repairing import repaired  # noqa: E402
from shrinking import shrunk  # noqa: E402


def disagreements(code: str) -> tuple[str, ...]:
    """What the two say differently of a program; nothing for a program that fails."""
    try:
        return compare(code).disagreements
    except Exception:  # Half a program, as the search for a small one makes it.
        return ()


def show(code: str, seed: int) -> None:
    """Print the smallest program found on which they still disagree in the same way."""
    kind = disagreements(code)[0].partition(":")[0]
    small = shrunk(code, lambda tried: any(line.startswith(kind + ":") for line in disagreements(tried)))
    print(f"--- program {seed}")
    for number, line in enumerate(small.rstrip().splitlines(), 1):
        print(f"{number:4}  {line}")
    print(*disagreements(small), "", sep="\n")


def repair_all(seeds: range) -> bool:
    """Repair the programs and print the figures; whether any came out wrong."""
    changed = wrong = 0
    for seed in seeds:
        result = repaired(random_program(seed))
        changed += result.changed
        wrong += bool(result.wrong)
        if result.wrong:
            print(f"--- program {seed}", result.code.rstrip(), result.wrong, "", sep="\n")
    print(f"{len(seeds)} programs, {changed} repaired, {wrong} of them wrong")
    return wrong > 0


def main() -> None:
    """Compare the programs and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=3000, metavar="N", help="default 3000")
    parser.add_argument("--seed", type=int, default=0, help="the first program's; default 0")
    parser.add_argument("--repairs", action="store_true", help="repair the programs, and run both forms")
    arguments = parser.parse_args()
    if arguments.repairs:
        sys.exit(repair_all(range(arguments.seed, arguments.seed + arguments.programs)))
    agreed = defective = 0
    for seed in range(arguments.seed, arguments.seed + arguments.programs):
        code = random_program(seed)
        result = compare(code)
        defective += bool(result.stale_places)
        agreed += not result.disagreements
        if result.disagreements:
            show(code, seed)
    apart = arguments.programs - agreed
    print(f"{arguments.programs} programs, {defective} with stale reads")
    print(f"{agreed} agreements, {apart} disagreements")
    sys.exit(apart > 0)


if __name__ == "__main__":
    main()
