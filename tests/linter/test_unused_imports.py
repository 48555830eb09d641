"""A repair takes the imports along that only the code used which it took away; all others stay."""

from __future__ import annotations

import pytest
from loaderlint.linter.unused_imports import without_unused_imports

USE = "kept: List[int] = []\n"
AFTER = "kept = iter(())\n"

GOES = {
    "from typing import Iterable, List, Tuple\n": "from typing import Iterable, Tuple\n",
    "from typing import List, Tuple\n": "from typing import Tuple\n",
    "from typing import Tuple, List\n": "from typing import Tuple\n",
    "from typing import List\n": "",
    "import os\nfrom typing import List\r\nimport re\n": "import os\nimport re\n",
    "from typing import List\n\n\n": "",
    "import os\n\nfrom typing import List\n\n\n": "import os\n\n\n",
    "from typing import (\n    List,\n    Tuple,\n)\n": "from typing import (\n    Tuple,\n)\n",
    "from typing import (\n    Tuple, List\n)\n": "from typing import (\n    Tuple\n)\n",
    "from numbers import Many as List\n": "",
}

STAYS = {
    "a comment beside it": "from typing import List  # noqa: F401\n",
    "exported": "from typing import List\n__all__ = ['List']\n",
    "used in a string": "from typing import List\nx: 'List' = None\n",
    "not at the top level": "if True:\n    from typing import List\n",
    "two statements on a line": "import os; from typing import List\n",
}


@pytest.mark.parametrize("imports, left", GOES.items())
def test_an_import_that_nothing_uses_any_more_goes(imports: str, left: str) -> None:
    assert without_unused_imports(imports + USE, imports + AFTER) == left + AFTER


@pytest.mark.parametrize("imports", STAYS.values(), ids=STAYS.keys())
def test_other_imports_stay(imports: str) -> None:
    assert without_unused_imports(imports + USE, imports + AFTER) == imports + AFTER


def test_what_was_unused_before_is_not_the_repairs_business() -> None:
    code = "from typing import List\nx = 1\n"
    assert without_unused_imports(code, code + AFTER) == code + AFTER


def test_what_is_still_used_stays() -> None:
    code = "import concurrent.futures\nconcurrent.futures.wait(())\n"
    assert without_unused_imports(code + code, code) == code
    assert without_unused_imports(code, "import concurrent.futures\nwait(())\n") == "wait(())\n"
