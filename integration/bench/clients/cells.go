package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// ratio is the share that every sampler of the matrix keeps.
const ratio = 0.25

// matrixCell is one client with one sampler.
type matrixCell struct {
	name, family string
	// served: the sampler asks the collector, whose rate for this operation is ratio.
	served string
	// lateRates: requests for rates are answered some time after the first request.
	lateRates bool
	// p is the probability of the draw.
	p float64
	// mayAssume is the reason why the sampling of some calls can be unknown. If it is empty, only
	// calls of the warm-up, the first 50 traces of a service, can be unknown.
	mayAssume string
	// services are the services of the cell. The first one receives the requests of others, so it
	// is started before them.
	services []service
	// once: one process of one version, which counts by its arguments.
	once bool
}

// service is a service of a cell.
type service struct {
	name string
	// bases are the allowed bases of rows. At least leastShare of the rows have the first one.
	bases []string
	// slower is the method that takes twice as long in the second version.
	slower string
	// serves: the service serves requests of others until it is stopped.
	serves bool
	// command returns the command line of a process.
	command func(p process) command
	// did is the record of a process that writes no report.
	did map[string]did
}

type command struct {
	binary    string
	args, env []string
}

// process is the configuration of a process.
type process struct {
	endpoint, grpc, rates, ratesGRPC string // host:port
	service, version, instance       string
	begin, report                    string
	listen                           string
	calls                            []string // URLs
	seconds                          float64
	workers                          int
	slow                             int // 2 where the slower method is twice as slow, else 1
}

const (
	goTotal  = "billing/orders.total"
	jsRender = "storefront/pages.render"
	jvRender = "Client.render"
)

// estimated are rows whose probability is estimated from trace ids. The others follow a root that
// states its probability. A span that left before its root cannot follow it: its probability is
// estimated.
var (
	estimated = []string{"estimated"}
	served    = []string{"served", "inherited", "estimated"}
	inherited = []string{"inherited", "estimated"}
	threshold = []string{"threshold"}
	rootsOnly = []string{"threshold", "inherited", "estimated"}
	legacy    = []string{"legacy"}
)

// matrix returns the cells.
func matrix(c clients) []matrixCell {
	one := func(name, family string, s service) matrixCell {
		return matrixCell{name: name, family: family, p: ratio, services: []service{s}}
	}
	remote := func(x matrixCell, operation string) matrixCell {
		x.served = operation
		return x
	}
	return []matrixCell{
		one("Go otelhttp, ratio", "go", service{
			name: "billing", bases: estimated, slower: goTotal,
			command: c.goProcess("--ratio", fmt.Sprint(ratio), "--over-http", "--checks"),
		}),
		one("Go service of both SDKs", "go", service{
			name: "billing", bases: append(estimated, "exact"), slower: goTotal,
			command: c.goProcess("--ratio", fmt.Sprint(ratio), "--own", ""),
		}),
		remote(matrixCell{name: "Go chain of two services", family: "go", p: ratio, services: []service{
			{name: "back", bases: inherited, slower: goTotal, serves: true, command: c.goProcess()},
			{name: "front", bases: served, slower: goTotal, command: c.goProcess("--rates", "")},
		}}, "POST /orders"),
		remote(one("Go requests of 1.5 s", "go", service{
			name: "billing", bases: served, slower: goTotal,
			command: func(p process) command {
				p.workers = 200
				return c.goProcess("--rates", "", "--order", "1.5s", "--flush", "200ms")(p)
			},
		}), "POST /orders"),
		func() matrixCell {
			x := remote(one("Go process before its first poll", "go", service{
				name: "billing", bases: served,
				command: c.goProcess("--rates", "", "--initial", "1"),
			}), "POST /orders")
			x.lateRates = true
			x.mayAssume = "until a process has polled it keeps all, and nothing says so"
			return x
		}(),
		{
			name: "telemetrygen at full rate", family: "go", p: 1, once: true,
			services: []service{c.generator("generated", 30000)},
		},
		one("Node.js composite", "node", service{
			name: "storefront", bases: threshold, slower: jsRender, command: c.nodeProcess("--ratio", fmt.Sprint(ratio)),
		}),
		remote(one("Node.js remote", "node", service{
			name: "storefront", bases: served, slower: jsRender, command: c.nodeProcess("--rates", ""),
		}), "GET /page"),
		one("Python distro, ratio", "python", service{
			name: "storefront", bases: estimated, slower: jsRender, command: c.pythonProcess(false),
		}),
		one("Python composite", "python", service{
			name: "storefront", bases: rootsOnly, slower: jsRender, command: c.pythonProcess(true),
		}),
		one("Java agent, ratio", "java", service{
			name: "storefront", bases: estimated, slower: jvRender, command: c.javaProcess("traceidratio", fmt.Sprint(ratio)),
		}),
		one("Java agent, parent-based ratio", "java", service{
			name: "storefront", bases: estimated, slower: jvRender, command: c.javaProcess("parentbased_traceidratio", fmt.Sprint(ratio)),
		}),
		remote(one("Java agent, jaeger_remote", "java", service{
			name: "storefront", bases: served, slower: jvRender, command: c.javaProcess("parentbased_jaeger_remote", ""),
		}), "Client.serve"),
		one("Java agent, consistent sampler of contrib", "java", service{
			name: "storefront", bases: legacy, slower: jvRender, command: c.javaProcess("parentbased_consistent_probability", fmt.Sprint(ratio)),
		}),
	}
}

func millis(n int) string { return fmt.Sprintf("%dms", n) }

// goProcess returns the command of gotel. An empty --rates or --own stands for the collector's
// address.
func (c clients) goProcess(flags ...string) func(process) command {
	return func(p process) command {
		args := append([]string{
			"--endpoint", p.grpc, "--service", p.service, "--version", p.version, "--instance", p.instance,
			"--report", p.report, "--begin", p.begin, "--orders", "0", "--duration", fmt.Sprintf("%.3fs", p.seconds),
			"--workers", strconv.Itoa(p.workers), "--total", millis(10 * p.slow), "--order", "5ms",
		}, flags...)
		for i := range args {
			switch args[i] {
			case "--rates":
				args[i+1] = "http://" + p.rates + "/sampling"
			case "--own":
				args[i+1] = "http://" + p.endpoint
			}
		}
		if p.listen != "" {
			args = append(args, "--listen", p.listen)
		}
		if len(p.calls) > 0 {
			args = append(args, "--call", strings.Join(p.calls, ","))
		}
		return command{binary: c.gotel, args: args}
	}
}

func (c clients) nodeProcess(flags ...string) func(process) command {
	return func(p process) command {
		args := append([]string{c.nodeClient,
			"--endpoint", "http://" + p.endpoint, "--service", p.service, "--version", p.version, "--instance", p.instance,
			"--report", p.report, "--begin", p.begin, "--requests", "0", "--seconds", fmt.Sprint(p.seconds),
			"--workers", strconv.Itoa(p.workers), "--load-ms", "5", "--render-ms", strconv.Itoa(10 * p.slow), "--checks",
		}, flags...)
		for i := range args {
			if args[i] == "--rates" {
				args[i+1] = "http://" + p.rates
			}
		}
		return command{binary: c.node, args: args}
	}
}

// environment returns the variables for SDKs that the program does not configure itself.
func environment(p process, more ...string) []string {
	return append([]string{
		"OTEL_SERVICE_NAME=" + p.service,
		"OTEL_RESOURCE_ATTRIBUTES=service.version=" + p.version + ",service.instance.id=" + p.instance + ",deployment.environment.name=test",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + p.endpoint,
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none",
		"OTEL_BSP_MAX_QUEUE_SIZE=100000",
	}, more...)
}

func (c clients) pythonProcess(consistent bool) func(process) command {
	return func(p process) command {
		args := []string{c.pyClient, "--report", p.report, "--begin", p.begin, "--seconds", fmt.Sprint(p.seconds),
			"--workers", strconv.Itoa(p.workers), "--load-ms", "5", "--render-ms", strconv.Itoa(10 * p.slow)}
		python := filepath.Join(c.python, "python")
		if consistent {
			return command{binary: python, args: append(args, "--consistent", fmt.Sprint(ratio)), env: environment(p)}
		}
		return command{
			binary: filepath.Join(c.python, "opentelemetry-instrument"), args: append([]string{python}, args...),
			env: environment(p, "OTEL_TRACES_EXPORTER=otlp_proto_http",
				"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG="+fmt.Sprint(ratio)),
		}
	}
}

func (c clients) javaProcess(sampler, argument string) func(process) command {
	return func(p process) command {
		argument := argument
		if argument == "" {
			argument = "endpoint=http://" + p.ratesGRPC + ",pollingInterval=100,initialSamplingRate=0"
		}
		return command{
			binary: "java",
			args: []string{
				"-Xmx128m", "-javaagent:" + filepath.Join(c.jars, "opentelemetry-javaagent-2.33.1.jar"),
				"-Dotel.javaagent.extensions=" + filepath.Join(c.jars, "opentelemetry-consistent-sampling-1.51.0-alpha.jar"),
				"-Dotel.instrumentation.methods.include=Client[serve,load,render]",
				"-cp", c.classes, "Client",
				fmt.Sprintf("%.0f", p.seconds), strconv.Itoa(p.workers), "5", strconv.Itoa(10 * p.slow), p.begin, p.report,
			},
			env: environment(p, "OTEL_TRACES_SAMPLER="+sampler, "OTEL_TRACES_SAMPLER_ARG="+argument),
		}
	}
}

// generator returns the service telemetrygen, which creates a number of traces as fast as it can.
func (c clients) generator(name string, traces int) service {
	calls := did{Calls: int64(traces)}
	return service{
		name: name, bases: []string{"configured"},
		did: map[string]did{"telemetrygen.lets-go": calls, "telemetrygen.okey-dokey-0": calls},
		command: func(p process) command {
			return command{binary: c.telemetrygen, args: []string{
				"traces", "--otlp-insecure", "--otlp-endpoint", p.grpc, "--service", p.service,
				"--otlp-attributes", fmt.Sprintf("service.version=%q", p.version),
				"--traces", strconv.Itoa(traces), "--rate", "0", "--child-spans", "1",
				"--batch=false", // in batches it drops spans that its queue has no room for, and does not count them
			}}
		},
	}
}
