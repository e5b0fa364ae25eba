"""JUnit files held against what readers ask for: the strict schema (Ant's, JUnit.xsd of windyroad), which Jenkins' and GitLab's contain."""
import re
import xml.etree.ElementTree as xml

SUITE = {"name", "timestamp", "hostname", "tests", "failures", "errors", "time", "package", "id"}
ENDINGS = {"failure", "error", "skipped"}


def read(path):
    """The one testsuite of a file that is valid."""
    root = xml.parse(path).getroot()
    assert root.tag == "testsuites" and not root.attrib and len(root) == 1
    suite = root[0]
    assert suite.tag == "testsuite" and SUITE <= set(suite.keys()) <= SUITE | {"skipped"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp")) and suite.get("hostname").strip() and suite.get("name")
    assert all(re.fullmatch(r"\d+", suite.get(k)) for k in ("id", "tests", "failures", "errors", "skipped"))
    cases = suite.findall("testcase")
    assert [e.tag for e in suite] == ["properties"] + ["testcase"] * len(cases) + ["system-out", "system-err"]
    for case in cases:
        assert set(case.keys()) == {"classname", "name", "time"} and case.get("classname") and case.get("name")
        assert len(case) <= 1 and {e.tag for e in case} <= ENDINGS and all(e.get("message") for e in case)
        assert all(e.get("type") for e in case if e.tag != "skipped")
    for e, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(count)) == len(suite.findall(f"testcase/{e}"))
    assert int(suite.get("tests")) == len(cases)
    times = [float(e.get("time")) for e in (suite, *cases) if re.fullmatch(r"\d+\.\d{3}", e.get("time"))]
    assert len(times) == 1 + len(cases) and sum(times[1:]) <= times[0] + 0.0005 * len(times)
    return suite
