"""What the log says of a handler that raised: public ids, a reason, and a trace only where that helps."""

from pathlib import Path

import pytest

from fyke.core.ids import new_id, public
from fyke.core.task import Kind, Task
from fyke.engine.failure import told
from fyke.objects.protocol import ObjectsUnusable

JOB, TASK = new_id(), new_id()


def task(kind: str, job: int, payload: bytes = b"") -> Task:
    return Task(TASK, job, 1, kind, 0, "http://a.test/", payload, 1, 1)


@pytest.mark.parametrize(
    "given", [task(Kind.PAGE, JOB), task(Kind.PLAN, JOB), task(Kind.FINISH, 0, b'{"job":%d}' % JOB)]
)
def test_the_job_is_named_even_by_a_task_of_fykes_own(given: Task) -> None:
    said = told(ObjectsUnusable("the object store cannot be used: not a directory"), given)
    assert said == {
        "task": public(TASK),
        "kind": given.kind,
        "job": public(JOB),
        "error": "ObjectsUnusable",
        "reason": "the object store cannot be used: not a directory",
    }


def test_what_the_system_refuses_needs_no_trace_and_a_bug_does(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as refused:
        (tmp_path / "nothing").open()
    assert told(refused.value, task(Kind.PAGE, JOB))["reason"] == "No such file or directory"
    bug = ZeroDivisionError()
    assert told(bug, task(Kind.PAGE, JOB))["exc_info"] is bug
