"""A small service traced by the stock OpenTelemetry SDK of Python. It knows nothing of
corehour. The distribution's opentelemetry-instrument sets up its SDK by the environment; with
--consistent the program does, since the environment cannot name the composite sampler.

It answers requests it makes up itself, and writes what it did, by its own clock, to --report.
"""

import argparse
import json
import os
import threading
import time

from opentelemetry import trace

parser = argparse.ArgumentParser()
parser.add_argument("--consistent", type=float, help="share of requests to sample by the composite sampler")
parser.add_argument("--load-ms", type=float, default=5, help="how long data take to load, by a timer")
parser.add_argument("--render-ms", type=float, default=10, help="how long a page takes to render, likewise")
parser.add_argument("--seconds", type=float, default=1, help="how long to serve")
parser.add_argument("--workers", type=int, default=4, help="requests at a time")
parser.add_argument("--begin", help="a file to wait for; REPORT.ready says that the program waits")
parser.add_argument("--report", required=True)
options = parser.parse_args()


def consistent_provider(ratio):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace._sampling_experimental import (
        composable_parent_threshold,
        composable_traceid_ratio_based,
        composite_sampler,
    )
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    sampler = composite_sampler(composable_parent_threshold(composable_traceid_ratio_based(ratio)))
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


if options.consistent is not None:
    trace.set_tracer_provider(consistent_provider(options.consistent))
tracer = trace.get_tracer("storefront/pages")

done = {}
lock = threading.Lock()


def timed(method, name, attributes, work):
    """Runs work in a span. A span is as long as something between what is read inside and around it."""
    outer = time.perf_counter_ns()
    with tracer.start_as_current_span(name) as span:
        span.set_attributes(attributes)  # the composite sampler loses those that a span starts with
        begin = time.perf_counter_ns()
        work()
        wall = time.perf_counter_ns() - begin
    outer = time.perf_counter_ns() - outer
    with lock:
        did = done.setdefault(method, {"calls": 0, "wall_ns": 0, "outer_wall_ns": 0})
        did["calls"] += 1
        did["wall_ns"] += wall
        did["outer_wall_ns"] += outer


# Next to steps that take as long in every version one that became slower stands out: name, milliseconds.
STEADY = (("card", 1), ("check", 1), ("limit", 2), ("price", 1), ("review", 2), ("stock", 2))


def serve():
    def work():
        # Named by the older pair of attributes.
        for step, ms in (("load", options.load_ms), *STEADY):
            timed(
                "storefront/store.Store." + step,
                step,
                {"code.namespace": "storefront/store.Store", "code.function": step},
                lambda: time.sleep(ms / 1000),
            )
        # Named by the tracer and the span alone.
        timed("storefront/pages.render", "render", {}, lambda: time.sleep(options.render_ms / 1000))

    # Named by the attribute of the convention.
    name = "storefront/server.Server.serve"
    timed(name, "GET /page", {"code.function.name": name}, work)


if options.begin:
    open(options.report + ".ready", "w").close()
    while not os.path.exists(options.begin):
        time.sleep(0.01)
deadline = time.monotonic() + options.seconds


def serve_until_deadline():
    while time.monotonic() < deadline:
        serve()


workers = [threading.Thread(target=serve_until_deadline) for _ in range(options.workers)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
trace.get_tracer_provider().shutdown()
with open(options.report, "w") as report:
    json.dump(done, report)
