// A small service traced by the stock OpenTelemetry SDK of Node.js. It knows
// nothing of corehour. It answers --requests requests it makes up itself, and
// writes what it did, by its own clock, to --report.
'use strict';

const fs = require('node:fs');
const { parseArgs } = require('node:util');
const { trace, SpanStatusCode } = require('@opentelemetry/api');
const { defaultResource, resourceFromAttributes } = require('@opentelemetry/resources');
const { NodeTracerProvider, BatchSpanProcessor, AlwaysOffSampler } = require('@opentelemetry/sdk-trace-node');

const { values: options } = parseArgs({
  options: {
    protocol: { type: 'string', default: 'http' },
    endpoint: { type: 'string' },
    service: { type: 'string', default: 'storefront' },
    version: { type: 'string', default: '1.0' },
    instance: { type: 'string', default: 'storefront-1' },
    requests: { type: 'string', default: '200' },
    'load-ms': { type: 'string', default: '20' }, // how long data take to load, by a timer
    'render-ms': { type: 'string', default: '20' }, // how long a page takes to render, likewise
    checks: { type: 'boolean', default: false }, // make eight methods more that take as long in every version
    workers: { type: 'string', default: '1' }, // requests at a time
    seconds: { type: 'string', default: '0' }, // serve so long at least, and so many requests at least
    begin: { type: 'string' }, // a file: serve as soon as it is there; says by a file report.ready that it waits
    ratio: { type: 'string' }, // share of requests to sample consistently, written to the trace state
    rates: { type: 'string' }, // a server of Jaeger's remote sampling protocol, which says what to sample
    report: { type: 'string' },
  },
});

function newExporter() {
  if (options.protocol === 'grpc') {
    const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-grpc');
    return new OTLPTraceExporter({ url: options.endpoint });
  }
  const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter({ url: options.endpoint + '/v1/traces' });
}

// newSampler makes a sampler of OpenTelemetry's consistent probability sampling.
function newSampler(ratio) {
  const {
    createCompositeSampler,
    createComposableParentThresholdSampler,
    createComposableProbabilitySampler,
  } = require('@opentelemetry/sampler-composite');
  return createCompositeSampler(createComposableParentThresholdSampler(createComposableProbabilitySampler(ratio)));
}

// newRemoteSampler samples nothing until it has rates.
function newRemoteSampler(endpoint) {
  const { JaegerRemoteSampler } = require('@opentelemetry/sampler-jaeger-remote');
  return new JaegerRemoteSampler({
    endpoint,
    serviceName: options.service,
    poolingInterval: 100,
    initialSampler: new AlwaysOffSampler(),
  });
}

const remote = options.rates && newRemoteSampler(options.rates);
const provider = new NodeTracerProvider({
  sampler: remote || (options.ratio && newSampler(Number(options.ratio))),
  // With the default resource, which names the SDK: a provider replaces it by the one it is given.
  resource: defaultResource().merge(resourceFromAttributes({
    'service.name': options.service,
    'service.version': options.version,
    'service.instance.id': options.instance,
    'deployment.environment.name': 'test',
  })),
  spanProcessors: [new BatchSpanProcessor(newExporter(), { maxQueueSize: 100000, scheduledDelayMillis: 200 })],
});
provider.register();
const tracer = trace.getTracer('storefront/pages');

const done = {};

// timed runs work in a span and keeps the books.
// A span is as long as something between what is read inside of it and around it.
async function timed(method, name, attributes, work) {
  const outer = process.hrtime.bigint();
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    const begin = process.hrtime.bigint();
    try {
      return await work();
    } catch (fault) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw fault;
    } finally {
      const books = (done[method] ??= { calls: 0, wall_ns: 0, outer_wall_ns: 0 });
      books.calls++;
      books.wall_ns += Number(process.hrtime.bigint() - begin);
      span.end();
      books.outer_wall_ns += Number(process.hrtime.bigint() - outer);
    }
  });
}

// wait takes time without taking a processor, so that what it takes depends
// little on who else wants one.
const wait = (milliseconds) =>
  new Promise((resolve) => (milliseconds > 0 ? setTimeout(resolve, milliseconds) : setImmediate(resolve)));

// Named by the attribute of the convention.
const serve = () =>
  timed('storefront/server.Server.serve', 'GET /page', { 'code.function.name': 'storefront/server.Server.serve' }, async () => {
    await load();
    await check();
    await render();
  });

// Named by the older pair of attributes.
const load = () =>
  timed('storefront/store.Store.load', 'load', { 'code.namespace': 'storefront/store.Store', 'code.function': 'load' }, () =>
    wait(Number(options['load-ms'])));

// Next to methods that take as long in every version one that became slower stands out.
const checks = options.checks ? ['Address', 'Card', 'Customs', 'Limit', 'Name', 'Price', 'Stock', 'Tax'] : [];
const check = async () => {
  for (const [i, what] of checks.entries()) {
    await timed('storefront/pages.check' + what, 'check' + what, {}, () => wait(1 + (i % 2)));
  }
};

// Named by the tracer and the span alone.
const render = () => timed('storefront/pages.render', 'render', {}, () => wait(Number(options['render-ms'])));

async function main() {
  while (remote && remote.toString().includes('sampler=AlwaysOff')) {
    await wait(10);
  }
  if (options.begin) {
    fs.writeFileSync(options.report + '.ready', '');
    while (!fs.existsSync(options.begin)) {
      await wait(10);
    }
  }
  const deadline = Date.now() + 1000 * Number(options.seconds);
  let n = 0;
  const work = async () => {
    while (n++ < Number(options.requests) || Date.now() < deadline) {
      await serve();
    }
  };
  await Promise.all(Array.from({ length: Number(options.workers) }, work));
  await provider.shutdown();
  fs.writeFileSync(options.report, JSON.stringify(done));
  process.exit(0); // the remote sampler would ask for ever
}

main().catch((fault) => {
  console.error(fault);
  process.exit(1);
});
