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

// Option is an option of Start. Options win over the environment.
type Option func(*config)

// config is what Start works with: defaults, then the environment, then options.
type config struct {
	disabled bool

	attributes  map[string]string // of the resource: OTEL_RESOURCE_ATTRIBUTES and options
	collectors  []string          // full URLs of trace endpoints, in any order
	rates       string            // base URL or :port; "" = not asked for
	headers     export.Headers    // of requests to collectors
	rateHeaders export.Headers    // of polls for rates, in addition
	tls         *tls.Config       // of the SDK's own client, nil = as Go has it
	timeout     time.Duration
	compression string // gzip or none; "" = gzip unless all collectors are on this machine
	client      *http.Client
	writer      io.Writer // prints instead of sending

	defaults   settings
	cpu        cpuChoice
	methodFile string
	// methodFileAsked: the program named the file itself, so Start fails if it cannot be
	// read.
	methodFileAsked bool
	strictMethods   bool
	compiledIn      bool   // the probes of all methods were
	builtMethodFile string // the text of one that was compiled in, used where methodFile names none
	namedOnly       bool   // methods are off unless the file or a collector names them

	interval   time.Duration // of counts
	flushEvery time.Duration
	batch      int // records per request
	queue      int
	cells      int

	traceContext func(context.Context) (TraceContext, bool)

	retry  export.Retry
	random func() uint64 // uniform; asked by many goroutines
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

// WithService names the service and its version. Without a version, that of the
// main module is taken from the build.
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

// WithEndpoint sets the base URL of the collector; /v1/traces is appended. Of
// several, the processes of one service choose the same, and the next while it
// cannot be reached.
func WithEndpoint(bases ...string) Option {
	return func(c *config) {
		if all, err := export.Addressed(bases, export.TracesPath); err != nil {
			c.fault("WithEndpoint: %w", err)
		} else {
			c.collectors = all
		}
	}
}

// WithRates asks a collector at this base URL what each method should sample;
// /v1/rates is appended. A port alone, ":4319", is that of the endpoint's host.
func WithRates(base string) Option {
	return func(c *config) {
		if _, err := export.RatesURLs(base, c.collectors); err != nil {
			c.fault("WithRates: %w", err)
		} else {
			c.rates = base
		}
	}
}

// WithHeaders adds headers to every request to a collector, and to a server of rates at
// the same host and by the same scheme.
func WithHeaders(headers map[string]string) Option {
	return func(c *config) { c.addHeaders("WithHeaders", c.headers, headers) }
}

// WithRatesHeaders adds headers to polls for rates, wherever they are served.
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

// WithTimeout bounds one attempt to send a request. Default 10 s.
func WithTimeout(timeout time.Duration) Option {
	return func(c *config) {
		if timeout <= 0 || timeout > longestTimeout {
			c.fault("WithTimeout: must be positive and %s at most, found %s", longestTimeout, timeout)
			return
		}
		c.timeout = timeout
	}
}

// WithHTTPClient sends with a client of the program's own, for proxies or certificates
// that variables cannot name: those for TLS have no effect on it. Its redirects are not
// followed.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) { c.client = client }
}

// WithWriter prints what would be sent, a line per span, instead of sending it.
func WithWriter(w io.Writer) Option {
	return func(c *config) { c.writer = w }
}

// WithSample sets the share of calls timed of methods without a rate of their own. Below 1
// it gives way where more than some 10,000 calls a second would be timed.
func WithSample(rate float64) Option {
	return func(c *config) {
		if fault := shareFault("rate", rate); fault != "" {
			c.fault("WithSample: %s", fault)
			return
		}
		c.defaults.mode, c.defaults.rate = Sample, rate
	}
}

// WithCPURate sets the share of timed calls whose CPU is timed where a method
// says nothing else.
func WithCPURate(rate float64) Option {
	return func(c *config) {
		if fault := shareFault("cpu rate", rate); fault != "" {
			c.fault("WithCPURate: %s", fault)
			return
		}
		c.defaults.cpuRate = rate
	}
}

// WithCPU decides whether CPU is timed. With true it is timed in a program that uses iter.Pull
// too, where Go ends the program if a coroutine is used in and out of a call whose CPU is timed:
// see the README. With false no CPU is timed and no thread is locked. Without this option CPU is
// timed in programs that do not use iter.Pull.
func WithCPU(on bool) Option {
	return func(c *config) {
		c.cpu = cpuOff
		if on {
			c.cpu = cpuOn
		}
	}
}

// WithDefaultMode sets the mode of methods that say nothing else.
func WithDefaultMode(mode Mode) Option {
	return func(c *config) {
		if mode > Off {
			c.fault("WithDefaultMode: must be Sample, Aggregate or Off, found %s", mode)
			return
		}
		c.defaults.mode = mode
	}
}

// WithMethodFile reads rates and modes from a file; see config/methods.schema.json.
// The file is read again every 5 s: a change holds once two readings agree, and one
// that is no good is named on stderr and changes nothing.
func WithMethodFile(path string) Option {
	return func(c *config) { c.methodFile, c.methodFileAsked = path, true }
}

// WithStrictMethods makes every fault of the method file an error of Start, and so
// every entry that fits no method made by then. A change of the file that has faults
// is not taken.
func WithStrictMethods() Option {
	return func(c *config) { c.strictMethods = true }
}

// WithInterval sets how often counts leave: a divisor of a minute, from a second
// up. Default one minute.
func WithInterval(interval time.Duration) Option {
	return func(c *config) {
		if !isInterval(interval) {
			c.fault("WithInterval: must divide a minute and be at least 1s, found %s", interval)
			return
		}
		c.interval = interval
	}
}

// isInterval reports whether counts can leave so often.
func isInterval(interval time.Duration) bool {
	return interval >= time.Second && time.Minute%interval == 0
}

// WithFlush sends at the latest every so often, and as soon as so many records
// wait, rounded up to a power of two. Default 5 s and 1024 records.
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

// WithQueue sets how many timed calls may wait to be sent, rounded up to a power
// of two. Default 8192. More are added up into cells, 1024 by caller and 1024
// without; while a request lasts so are the oldest, so that an eighth stays free.
func WithQueue(records int) Option {
	return func(c *config) {
		if records < 2 || records > maxQueue {
			c.fault("WithQueue: must be within 2 and %d, found %d", maxQueue, records)
			return
		}
		c.queue = powerOfTwo(records)
	}
}

// powerOfTwo rounds up.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// WithTraceContext ties measurements to traces: find is called for chosen calls
// of BeginContext, on their goroutine.
func WithTraceContext(find func(context.Context) (TraceContext, bool)) Option {
	return func(c *config) { c.traceContext = find }
}

// compresses reports whether requests are compressed. To a collector on the same machine that takes
// most of what sending a record takes, on both sides, and saves nothing.
func (c *config) compresses() bool {
	return c.compression == "gzip" || c.compression == "" && slices.ContainsFunc(c.collectors, export.Elsewhere)
}

func (c *config) check() error {
	if c.batch > c.queue {
		c.batch = c.queue // a batch larger than the queue could never be waited for
	}
	return errors.Join(c.faults...)
}
