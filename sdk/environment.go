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

// fromEnvironment applies the variables of OpenTelemetry and our own. A variable
// that is invalid is named on stderr and ignored: a typing error must not stop a
// service.
func (c *config) fromEnvironment() {
	c.disabled = strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")

	pairs("OTEL_RESOURCE_ATTRIBUTES", func(key, value string) string {
		c.attributes[key] = value
		return ""
	})
	c.set("service.name", os.Getenv("OTEL_SERVICE_NAME"))

	c.endpoints("OTEL_EXPORTER_OTLP_ENDPOINT", export.TracesPath, false)
	c.endpoints("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", false) // by the standard, taken as it is
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
		if value := os.Getenv(name); value != "" {
			if ms, err := strconv.Atoi(value); err != nil || ms <= 0 || ms > int(longestTimeout/time.Millisecond) {
				messages.Logf("%s is left out: must be a positive number of milliseconds, a day's at most, found %q", name, value)
			} else {
				c.timeout = time.Duration(ms) * time.Millisecond
			}
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"} {
		switch value := os.Getenv(name); value {
		case "":
		case "gzip", "none":
			c.compression = value
		default:
			messages.Logf("%s is left out: must be gzip or none, found %q", name, value)
		}
	}

	if strings.EqualFold(os.Getenv("COREHOUR_EXPORT"), "stderr") {
		c.writer = os.Stderr
	} else if value := os.Getenv("COREHOUR_EXPORT"); value != "" && !strings.EqualFold(value, "otlp") {
		messages.Logf("COREHOUR_EXPORT is left out: must be otlp or stderr, found %q", value)
	}
	if value := os.Getenv("COREHOUR_SAMPLE"); strings.EqualFold(value, "off") {
		c.defaults.mode = Off
	} else if value != "" {
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || shareFault("", rate) != "" {
			messages.Logf("COREHOUR_SAMPLE is left out: must be off or within 0 and 1, found %q", value)
		} else {
			c.defaults.rate = rate
		}
	}
	switch value := os.Getenv("COREHOUR_CPU"); {
	case value == "":
	case strings.EqualFold(value, "on"):
		c.cpu = cpuOn
	case strings.EqualFold(value, "off"):
		c.cpu = cpuOff
	default:
		messages.Logf("COREHOUR_CPU is left out: must be on or off, found %q", value)
	}
	if value := os.Getenv("COREHOUR_INTERVAL"); value != "" {
		if interval, err := time.ParseDuration(value); err != nil || !isInterval(interval) {
			messages.Logf("COREHOUR_INTERVAL is left out: must be a duration such as 10s that divides a minute, 1s at least, found %q", value)
		} else {
			c.interval = interval
		}
	}
	c.methodFile = os.Getenv("COREHOUR_METHODS")
}

// endpoints reads a variable that holds one base URL, or several after commas.
func (c *config) endpoints(variable, path string, several bool) {
	value := os.Getenv(variable)
	if value == "" {
		return
	}
	bases := []string{value}
	if several {
		bases = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if all, err := export.Addressed(bases, path); err != nil {
		messages.Logf("%s is left out: %v", variable, err)
	} else {
		c.collectors = all
	}
}

// pairs reads a variable of the form key=value,key=value with escaped values. take
// says what is wrong with a pair, or "". Keys and values may be secrets, where a comma
// or an equals sign is amiss, so a fault names the place only.
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
