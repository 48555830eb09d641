"""Replace a file by its repaired version: at once or not at all, and never over somebody else's change."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from loaderlint.linter.reading.source import SourceFile


class RewriteError(Exception):
    """Why a file was left as it is, in words for the user."""


def rewrite(read: SourceFile, repaired: SourceFile) -> None:
    """Put `repaired` in the place of the file that was `read`; of a link, the file it leads to.

    Raises `RewriteError` if the file cannot be written or is no longer what was read. It is then unchanged.
    """
    target = Path(os.path.realpath(read.path))
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            raise RewriteError("not repaired: this is not a regular file")
        if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
            raise RewriteError("not repaired: the file is read-only")
        draft = _draft(target, repaired.raw, status)
    except OSError as error:
        raise RewriteError(f"not repaired: cannot write: {error.strerror or error}") from None
    try:
        # Compared last, so that the gap in which a change could be missed is as small as it can be.
        if target.read_bytes() != read.raw:
            raise RewriteError("not repaired: the file has changed since it was read")
        os.replace(draft, target)
    except OSError as error:
        raise RewriteError(f"not repaired: cannot write: {error.strerror or error}") from None
    finally:
        draft.unlink(missing_ok=True)


def _draft(target: Path, content: bytes, status: os.stat_result) -> Path:
    """Write `content` to a new file beside `target` with its mode and owner."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(PermissionError):  # Only root may give files away; the mode matters more.
            os.chown(draft, status.st_uid, status.st_gid)
        os.chmod(draft, stat.S_IMODE(status.st_mode))
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft
