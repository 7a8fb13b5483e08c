"""What is not as recorded is named."""

from __future__ import annotations

from agentdbg.model.records import Json
from agentdbg.replay.present import _changed, _packages, _variables, differences_from_record
from tests.support.git_lab import commit, repository, say
from tests.support.replay_lab import ReplayLab


def test_a_record_that_is_as_it_was_has_nothing_to_say_and_changed_files_are_named(lab: ReplayLab) -> None:
    place = repository(lab)
    (place / "extra.py").write_text("x = 1\n")
    say(place, "dirty")
    lab.record(env={"SHOP_URL": "x", "SHOP_API_KEY": "y"})
    source = lab.run()
    given = dict.fromkeys(("SHOP_URL", "SHOP_API_KEY", "OUTSIDE", "PORT"), "")
    assert differences_from_record(source, given) == []
    missing = differences_from_record(source)
    assert any("SHOP_URL" in line and "--env-file" in line for line in missing)
    assert any("SHOP_API_KEY" in line and "dummy" in line for line in missing)
    say(place, "other")
    (place / "extra.py").write_text("x = 2\n")
    lines = differences_from_record(source)
    assert "{root}/lib/helper.py is not as recorded" in lines
    assert "{root}/extra.py is not as recorded" in lines
    commit(place)
    assert any(line.startswith("the commit is ") for line in differences_from_record(source))
    source.close()


def test_without_git_imported_modules_are_compared(lab: ReplayLab) -> None:
    (lab.place / "shop.py").write_text("price = 1\n")
    lab.record("import agentdbg, shop\n@agentdbg.agent\ndef a():\n    return 1\na()\n")
    source = lab.run()
    assert not any("shop" in line for line in differences_from_record(source))
    (lab.place / "shop.py").write_text("price = 2\n")
    assert "{root}/shop.py is not as recorded" in differences_from_record(source)
    (lab.place / "shop.py").unlink()
    assert "{root}/shop.py is not there any more" in differences_from_record(source)
    source.close()


def test_packages() -> None:
    lines = list(_packages({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "3", "d": "4"}))
    assert lines == [
        "package b is 3, recorded with 2",
        "package c 3 is not installed any more",
        "installed since: d",
    ]


def test_variables_of_a_terminal_are_no_difference() -> None:
    known: Json = {name: {"present": True} for name in ("TERM", "SSH_TTY", "PWD", "SHOP")}
    assert list(_variables({"env": known}, {})) == ["variables that were set and are not: SHOP; --env-file sets them"]


def test_a_difference_names_its_files_with_their_new_content() -> None:
    diff = (
        "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+diff --git a/z b/z\n"
        "diff --git a/with space b/with space\ndeleted file mode 100644\nindex 3333333..0000000\n"
    )
    assert _changed(diff) == {"x": "2222222", "with space": "0000000"}
