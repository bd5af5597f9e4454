"""Reads `/metrics` with the parsers of Prometheus' Python library. Usage:

    python metrics.py BASE_URL SERVER

SERVER is a server of the gateway at BASE_URL.
"""

import http.client
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_classic

CLASSIC = "text/plain"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
MADE_UP = 10_000


class Gateway:
    """A connection to the gateway, with a session on it."""

    def __init__(self, base, path="/mcp"):
        self.connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
        self.path = path
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "metrics", "version": "1"}}
        self.session = None
        answer, headers = self.post(path, "initialize", hello)
        check("result" in answer, f"no session: {answer}")
        self.session = headers["mcp-session-id"]

    def ask(self, method, params=None):
        return self.post(self.path, method, params)[0]

    def post(self, path, method, params=None):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        self.connection.request("POST", path, body, headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        return (json.loads(text) if text.startswith("{") else text), response.headers

    def close(self):
        self.connection.request("DELETE", self.path, headers={"Mcp-Session-Id": self.session})
        self.connection.getresponse().read()
        self.connection.close()


def features(base, server):
    def scrape(accept):
        connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
        connection.request("GET", "/metrics", headers={"Accept": accept})
        response = connection.getresponse()
        text = response.read().decode()
        check(response.status == 200, f"status {response.status}: {text[:300]}")
        kind = response.headers["content-type"]
        connection.close()
        check(kind.startswith(accept.split(";")[0]), f"wrong content type: {kind}")
        return text

    def classic():
        return list(read_classic(scrape(CLASSIC)))

    def openmetrics():
        return list(read_openmetrics(scrape(OPENMETRICS)))

    def series(families):
        return {(sample.name, *sorted(sample.labels.items())) for family in families for sample in family.samples}

    def the_classic_parser_reads_it():
        families = classic()
        check_families(families)
        check(not any(family.type in ("unknown", "untyped") for family in families), "a family has no type")

    def the_openmetrics_parser_reads_it():
        check_families(openmetrics())

    def both_formats_agree():
        descriptions = [
            {(family.name, family.type, family.documentation) for family in families}
            for families in (classic(), openmetrics())
        ]
        same(*descriptions, "the families")
        same(series(classic()), series(openmetrics()), "the series")

    def counters_only_grow():
        gateway = Gateway(base)
        before = counted(openmetrics())
        for _ in range(10):
            gateway.ask("tools/list")
            gateway.ask("tools/call", {"name": "unknown"})
        after = counted(openmetrics())
        gateway.close()
        shrunk = [name for name, value in before.items() if after.get(name, -1) < value]
        check(not shrunk, f"counters that decreased: {shrunk}")
        failed = labelled("narrows_requests_total", endpoint="default", method="tools/call", outcome="client")
        same(after[failed] - before.get(failed, 0), 10, "the failed calls")

    def invented_names_add_no_series():
        paths = ["/mcp", f"/servers/{server}/mcp"]
        gateways = [Gateway(base, path) for path in paths]

        def call_both(number):
            for gateway in gateways:
                gateway.ask("tools/call", {"name": f"made-up-{number}", "arguments": {}})
                gateway.ask(f"made/up-{number}")
            plain(gateways[0], number)

        def plain(gateway, number):
            gateway.post(f"/api/mcp-gateway/{server}/rpc", f"made/up-{number}")
            gateway.post(f"/api/mcp-gateway/made-up-{number}/rpc", "tools/list")

        call_both(0)
        before = series(openmetrics())
        # Fewer of these, because calls that reach the server take longest.
        for number in range(1, 200):
            call_both(number)

        def many(part):
            gateway = Gateway(base)
            for number in range(part, MADE_UP, 4):
                gateway.ask("tools/call", {"name": f"made-up-{number}", "arguments": {}})
                gateway.ask(f"made/up-{number}")
                gateway.post(f"/mcp/made-up-{number}", "tools/list")
            gateway.close()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(many, range(4)))
        after = series(openmetrics())
        for gateway in gateways:
            gateway.close()
        same(after, before, f"the series after {MADE_UP} names")
        check(not any("made" in str(one) for one in after), "an invented name is in a label")

    return [
        the_classic_parser_reads_it,
        the_openmetrics_parser_reads_it,
        both_formats_agree,
        counters_only_grow,
        invented_names_add_no_series,
    ]


def check_families(families):
    names = [family.name for family in families]
    same(len(names), len(set(names)), "the number of names")
    check(len(names) > 20, f"only {names}")
    for family in families:
        check(family.documentation, f"{family.name} has no help")
        check(family.name.startswith(("narrows_", "process_")), f"unexpected name: {family.name}")
        if family.type == "counter":
            check(all(sample.name == f"{family.name}_total" for sample in family.samples), f"no totals: {family.name}")
            check(all(sample.value >= 0 for sample in family.samples), f"negative: {family.name}")
        if family.type == "histogram":
            check_histogram(family)


def check_histogram(family):
    found = {}
    for sample in family.samples:
        labels = {name: word for name, word in sample.labels.items() if name != "le"}
        parts = found.setdefault(tuple(sorted(labels.items())), {"buckets": []})
        if sample.name.endswith("_bucket"):
            parts["buckets"].append((float(sample.labels["le"]), sample.value))
        else:
            parts[sample.name.removeprefix(family.name)] = sample.value
    check(found, f"{family.name} is empty")
    for labels, parts in found.items():
        bounds = [bound for bound, _ in parts["buckets"]]
        counts = [count for _, count in parts["buckets"]]
        same(bounds, sorted(set(bounds)), f"the bounds of {family.name}{labels}")
        same(counts, sorted(counts), f"the buckets of {family.name}{labels}")
        same((bounds[-1], counts[-1]), (float("inf"), parts["_count"]), f"the last of {family.name}{labels}")
        check(parts["_sum"] >= 0, f"the sum of {family.name}{labels}")


def counted(families):
    return {
        labelled(sample.name, **sample.labels): sample.value
        for family in families
        if family.type in ("counter", "histogram")
        for sample in family.samples
    }


def labelled(name, **labels):
    return (name, *sorted(labels.items()))


def same(found, wanted, what):
    if found == wanted:
        return
    if isinstance(found, set):
        found, wanted = sorted(found - wanted)[:5], sorted(wanted - found)[:5]
    check(False, f"{what}: {str(found)[:500]} instead of {str(wanted)[:500]}")


def check(holds, why):
    if not holds:
        raise AssertionError(why)


def main():
    base, server = sys.argv[1:]
    failed = 0
    # The histogram of calls appears after the first call.
    Gateway(base).post(f"/api/mcp-gateway/{server}/rpc", "tools/list")
    wanted = features(base, server)
    for feature in wanted:
        name = feature.__name__.replace("_", " ")
        try:
            feature()
            print(f"ok {name}")
        except Exception as error:
            failed += 1
            print(f"FAIL {name}: {error!r}")
    print(f"{len(wanted) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
