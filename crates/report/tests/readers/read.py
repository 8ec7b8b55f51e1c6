"""Reads a file with the reader that its format is meant for, and prints what it saw as JSON.

read.py FORMAT FILE
"""

import csv
import json
import sys


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def read_openmetrics(path):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    with open(path, encoding="utf-8", newline="") as file:
        families = list(text_string_to_metric_families(file.read()))
    return [
        {"family": family.name, "type": family.type, "unit": family.unit, "labels": sample.labels, "value": sample.value}
        for family in families
        for sample in family.samples
    ]


def read_hdr(path):
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader

    seen = []
    reader = HistogramLogReader(path, HdrHistogram(1, 3600 * 1000 * 1000 * 1000, 3))
    while (histogram := reader.get_next_interval_histogram()) is not None:
        seen.append(
            {
                "tag": histogram.get_tag(),
                "count": histogram.get_total_count(),
                "p50": histogram.get_value_at_percentile(50),
                "p99": histogram.get_value_at_percentile(99),
                "max": histogram.get_max_value(),
            }
        )
    return seen


def read_markdown(path):
    from markdown_it import MarkdownIt

    with open(path, encoding="utf-8") as file:
        tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(file.read())
    rows, kinds = [], set()

    def text(token):
        kinds.update(child.type for child in token.children)
        return "".join(child.content for child in token.children)

    for before, token in zip(tokens, tokens[1:]):
        kinds.add(token.type)
        if before.type == "tr_open":
            rows.append([])
        if before.type in ("th_open", "td_open"):
            rows[-1].append(text(token))
        elif token.type == "inline":
            text(token)
    return {"rows": rows, "kinds": sorted(kinds)}


READERS = {"csv": read_csv, "openmetrics": read_openmetrics, "hdr": read_hdr, "markdown": read_markdown}

print(json.dumps(READERS[sys.argv[1]](sys.argv[2])))
