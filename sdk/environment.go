package corehour

import (
	"cmp"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/corehour/corehour/sdk/internal/export"
)

// fromEnvironment applies the variables of OpenTelemetry and our own. An invalid variable is
// named on stderr and ignored, because a typing error must not stop a service.
func (c *config) fromEnvironment() {
	c.disabled = strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")

	pairs("OTEL_RESOURCE_ATTRIBUTES", func(key, value string) string {
		c.attributes[key] = value
		return ""
	})
	c.set("service.name", os.Getenv("OTEL_SERVICE_NAME"))

	c.sendingFromEnvironment()
	c.measuringFromEnvironment()
}

func (c *config) sendingFromEnvironment() {
	c.endpoints("OTEL_EXPORTER_OTLP_ENDPOINT", export.TracesPath, false)
	c.endpoints("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", false) // used unchanged, as the OpenTelemetry specification requires
	if c.endpoints("COREHOUR_ENDPOINT", export.TracesPath, false) {
		c.rates = ":" + export.RatesPort
	}
	c.endpoints("COREHOUR_ENDPOINTS", export.TracesPath, true)
	if base := os.Getenv("COREHOUR_RATES_ENDPOINT"); base != "" {
		if _, err := export.RatesURLs(base, c.collectors); err != nil {
			messages.Logf("COREHOUR_RATES_ENDPOINT is left out: %v", err)
		} else {
			c.rates = base
		}
	}
	pairs("OTEL_EXPORTER_OTLP_HEADERS", c.headers.Set)
	pairs("OTEL_EXPORTER_OTLP_TRACES_HEADERS", c.headers.Set)
	pairs("COREHOUR_RATES_HEADERS", c.rateHeaders.Set)
	c.tls = export.TLS(
		cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"), os.Getenv("OTEL_EXPORTER_OTLP_CERTIFICATE")),
		cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE"), os.Getenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE")),
		cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"), os.Getenv("OTEL_EXPORTER_OTLP_CLIENT_KEY")), messages.Logf)
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"} {
		variable(name, "a positive number of milliseconds, a day's at most", func(value string) bool {
			ms, err := strconv.Atoi(value)
			valid := err == nil && ms > 0 && ms <= int(longestTimeout/time.Millisecond)
			if valid {
				c.timeout = time.Duration(ms) * time.Millisecond
			}
			return valid
		})
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"} {
		variable(name, "gzip or none", func(value string) bool {
			valid := value == "gzip" || value == "none"
			if valid {
				c.compression = value
			}
			return valid
		})
	}
	variable("COREHOUR_EXPORT", "otlp or stderr", func(value string) bool {
		stderr := strings.EqualFold(value, "stderr")
		if stderr {
			c.writer = os.Stderr
		}
		return stderr || strings.EqualFold(value, "otlp")
	})
}

func (c *config) measuringFromEnvironment() {
	variable("COREHOUR_SAMPLE", "off or within 0 and 1", func(value string) bool {
		if strings.EqualFold(value, "off") {
			c.defaults.mode = Off
			return true
		}
		rate, err := strconv.ParseFloat(value, 64)
		valid := err == nil && shareFault("", rate) == ""
		if valid {
			c.defaults.rate = rate
		}
		return valid
	})
	variable("COREHOUR_CPU", "on or off", func(value string) bool {
		switch {
		case strings.EqualFold(value, "on"):
			c.cpu = cpuOn
		case strings.EqualFold(value, "off"):
			c.cpu = cpuOff
		default:
			return false
		}
		return true
	})
	variable("COREHOUR_INTERVAL", "a duration such as 10s that divides a minute, 1s at least", func(value string) bool {
		interval, err := time.ParseDuration(value)
		valid := err == nil && isInterval(interval)
		if valid {
			c.interval = interval
		}
		return valid
	})
	c.methodFile = os.Getenv("COREHOUR_METHODS")
}

// variable passes the value of a variable to read, if it is set, and logs an invalid value.
func variable(name, want string, read func(value string) (valid bool)) {
	if value := os.Getenv(name); value != "" && !read(value) {
		messages.Logf("%s is left out: must be %s, found %q", name, want, value)
	}
}

// endpoints reads a variable with one base URL, or with several separated by commas. It reports whether it is set and valid.
func (c *config) endpoints(variable, path string, several bool) bool {
	value := os.Getenv(variable)
	if value == "" {
		return false
	}
	bases := []string{value}
	if several {
		bases = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	all, err := export.Addressed(bases, path)
	if err != nil {
		messages.Logf("%s is left out: %v", variable, err)
		return false
	}
	c.collectors = all
	return true
}

// pairs reads a variable of the form key=value,key=value with escaped values. take returns the
// fault of a pair, or "". A misplaced comma or equals sign can turn a secret into a key, so a
// fault names the position only.
func pairs(variable string, take func(key, value string) (fault string)) {
	for i, pair := range strings.Split(os.Getenv(variable), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			messages.Logf("%s: entry %d is left out: must be key=value with the value URL-escaped", variable, i+1)
		} else if fault := take(key, value); fault != "" {
			messages.Logf("%s: entry %d is left out: %s", variable, i+1, fault)
		}
	}
}
