package corehour

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/corehour/corehour/sdk/internal/export"
)

// Option is an option of Start. Options take precedence over the environment.
type Option func(*config)

// config is the configuration of Start: defaults, then the environment, then options.
type config struct {
	disabled bool

	attributes  map[string]string // of the resource: OTEL_RESOURCE_ATTRIBUTES and options
	collectors  []string          // full URLs of trace endpoints, in any order
	rates       string            // base URL or :port; "" = rates are not polled
	headers     export.Headers    // of requests to collectors
	rateHeaders export.Headers    // of polls for rates, in addition
	tls         *tls.Config       // for the SDK's own client, nil = Go's default
	timeout     time.Duration
	compression string // gzip or none; "" = gzip unless all collectors are on this machine
	client      *http.Client
	writer      io.Writer // prints instead of sending

	defaults   settings
	cpu        cpuChoice
	methodFile string
	// methodFileAsked: the program named the file in code, so Start fails if it cannot be read.
	methodFileAsked bool
	strictMethods   bool
	compiledIn      bool   // all probes were compiled in
	builtMethodFile string // text of a compiled-in method file, used if methodFile is not set
	namedOnly       bool   // methods are off unless the file or a collector names them

	interval   time.Duration // of counts
	flushEvery time.Duration
	batch      int // records per request
	queue      int
	cells      int

	traceContext func(context.Context) (TraceContext, bool)

	retry  export.Retry
	random func() uint64 // uniform; called by many goroutines
	faults []error
}

const (
	defaultRate    = 0.01
	longestTimeout = 24 * time.Hour
)

func defaultConfig() config {
	return config{
		attributes:  map[string]string{},
		collectors:  []string{export.DefaultEndpoint + export.TracesPath},
		headers:     export.Headers{},
		rateHeaders: export.Headers{},
		timeout:     10 * time.Second,
		defaults:    settings{mode: Sample, rate: defaultRate, cpuRate: 1},
		interval:    time.Minute,
		flushEvery:  5 * time.Second,
		batch:       1024,
		queue:       8192,
		cells:       1024,
		retry:       export.Retry{First: 500 * time.Millisecond, Most: 10 * time.Second, Total: time.Minute},
		random:      rand.Uint64,
	}
}

func (c *config) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// WithService sets the service name and version. Without a version, the main module's version in
// the build information is used.
func WithService(name, version string) Option {
	return func(c *config) {
		c.set("service.name", name)
		c.set("service.version", version)
	}
}

// WithAttributes sets attributes of the resource, such as service.namespace,
// deployment.environment.name or service.instance.id.
func WithAttributes(attributes map[string]string) Option {
	return func(c *config) {
		for key, value := range attributes {
			c.set(key, value)
		}
	}
}

func (c *config) set(key, value string) {
	if value != "" {
		c.attributes[key] = value
	}
}

// WithEndpoint sets the base URL of the collector; /v1/traces is appended. Of several, the processes
// of one service choose the same one, and the next while it cannot be reached.
func WithEndpoint(bases ...string) Option {
	return func(c *config) {
		if all, err := export.Addressed(bases, export.TracesPath); err != nil {
			c.fault("WithEndpoint: %w", err)
		} else {
			c.collectors = all
		}
	}
}

// WithRates polls the collector at this base URL for the rate of each method; /v1/rates is appended.
// A port alone, ":4319", is that port on the endpoint's host.
func WithRates(base string) Option {
	return func(c *config) {
		if _, err := export.RatesURLs(base, c.collectors); err != nil {
			c.fault("WithRates: %w", err)
		} else {
			c.rates = base
		}
	}
}

// WithHeaders adds headers to every request to a collector, and to polls for rates with the same
// scheme and host.
func WithHeaders(headers map[string]string) Option {
	return func(c *config) { c.addHeaders("WithHeaders", c.headers, headers) }
}

// WithRatesHeaders adds headers to polls for rates on any host.
func WithRatesHeaders(headers map[string]string) Option {
	return func(c *config) { c.addHeaders("WithRatesHeaders", c.rateHeaders, headers) }
}

func (c *config) addHeaders(option string, to export.Headers, added map[string]string) {
	for name, value := range added {
		if fault := to.Set(name, value); fault != "" {
			c.fault("%s: %s", option, fault)
		}
	}
}

// WithTimeout bounds one attempt to send a request. The default is 10 s.
func WithTimeout(timeout time.Duration) Option {
	return func(c *config) {
		if timeout <= 0 || timeout > longestTimeout {
			c.fault("WithTimeout: must be positive and %s at most, found %s", longestTimeout, timeout)
			return
		}
		c.timeout = timeout
	}
}

// WithHTTPClient sends with the program's own client, for proxies or certificates that variables
// cannot name. TLS variables have no effect on it, and it follows no redirects.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) { c.client = client }
}

// WithWriter prints a line per span instead of sending it.
func WithWriter(w io.Writer) Option {
	return func(c *config) { c.writer = w }
}

// WithSample sets the share of timed calls for methods without a rate of their own. Below 1 it is
// lowered where more than 10,000 calls a second would be timed.
func WithSample(rate float64) Option {
	return func(c *config) {
		if fault := shareFault("rate", rate); fault != "" {
			c.fault("WithSample: %s", fault)
			return
		}
		c.defaults.mode, c.defaults.rate = Sample, rate
	}
}

// WithCPURate sets the share of timed calls with timed CPU, for methods without a setting of their
// own.
func WithCPURate(rate float64) Option {
	return func(c *config) {
		if fault := shareFault("cpu rate", rate); fault != "" {
			c.fault("WithCPURate: %s", fault)
			return
		}
		c.defaults.cpuRate = rate
	}
}

// WithCPU switches CPU timing on or off. With true, CPU is timed even in a program that uses
// iter.Pull: Go ends the program if a coroutine is used both inside and outside of a call with timed
// CPU (see the README). With false no CPU is timed and no thread is locked. Without this option CPU
// is timed in programs that do not use iter.Pull.
func WithCPU(on bool) Option {
	return func(c *config) {
		c.cpu = cpuOff
		if on {
			c.cpu = cpuOn
		}
	}
}

// WithDefaultMode sets the mode of methods without a setting of their own.
func WithDefaultMode(mode Mode) Option {
	return func(c *config) {
		if mode > Off {
			c.fault("WithDefaultMode: must be Sample, Aggregate or Off, found %s", mode)
			return
		}
		c.defaults.mode = mode
	}
}

// WithMethodFile reads rates and modes from a file; see config/methods.schema.json. The file is read
// again every 5 s. A change applies after two equal readings; an invalid file is named on stderr
// and changes nothing.
func WithMethodFile(path string) Option {
	return func(c *config) { c.methodFile, c.methodFileAsked = path, true }
}

// WithStrictMethods makes every fault of the method file an error of Start, including entries that
// match no method created by then. A changed file with faults is not applied.
func WithStrictMethods() Option {
	return func(c *config) { c.strictMethods = true }
}

// WithInterval sets the interval of counts: a divisor of a minute, at least a second. The default is
// one minute.
func WithInterval(interval time.Duration) Option {
	return func(c *config) {
		if !isInterval(interval) {
			c.fault("WithInterval: must divide a minute and be at least 1s, found %s", interval)
			return
		}
		c.interval = interval
	}
}

// isInterval reports whether interval is a valid interval of counts.
func isInterval(interval time.Duration) bool {
	return interval >= time.Second && time.Minute%interval == 0
}

// WithFlush sends after the given time at the latest, and as soon as the given number of records
// wait, rounded up to a power of two. The defaults are 5 s and 1024 records.
func WithFlush(every time.Duration, records int) Option {
	return func(c *config) {
		if every <= 0 || records <= 0 {
			c.fault("WithFlush: both must be positive, found %s and %d", every, records)
			return
		}
		c.flushEvery, c.batch = every, powerOfTwo(min(records, maxQueue))
	}
}

const maxQueue = 1 << 20

// WithQueue sets the maximum number of timed calls that wait to be sent, rounded up to a power of
// two. The default is 8192. Further records are added to cells, 1024 by caller and 1024 without;
// while a request is in flight the oldest are added too, so that an eighth stays free.
func WithQueue(records int) Option {
	return func(c *config) {
		if records < 2 || records > maxQueue {
			c.fault("WithQueue: must be within 2 and %d, found %d", maxQueue, records)
			return
		}
		c.queue = powerOfTwo(records)
	}
}

// powerOfTwo rounds n up to a power of two.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// WithTraceContext links measurements to traces: find runs for chosen calls of BeginContext, on their
// goroutine.
func WithTraceContext(find func(context.Context) (TraceContext, bool)) Option {
	return func(c *config) { c.traceContext = find }
}

// compresses reports whether requests are compressed. To a collector on the same machine compression
// takes most of the cost of sending a record, on both sides, and saves nothing.
func (c *config) compresses() bool {
	return c.compression == "gzip" || c.compression == "" && slices.ContainsFunc(c.collectors, export.Elsewhere)
}

func (c *config) check() error {
	if c.batch > c.queue {
		c.batch = c.queue // a batch larger than the queue would never be full
	}
	return errors.Join(c.faults...)
}
