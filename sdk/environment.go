package corehour

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// fromEnvironment applies the variables of OpenTelemetry and our own. A variable
// that makes no sense is named on stderr and left out: nobody should lose a
// service to a typing error.
func (c *config) fromEnvironment() {
	c.disabled = strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")

	pairs(c.attributes, "OTEL_RESOURCE_ATTRIBUTES")
	c.set("service.name", os.Getenv("OTEL_SERVICE_NAME"))

	if base := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); base != "" {
		if full, err := tracesURL(base); err != nil {
			notes.add("OTEL_EXPORTER_OTLP_ENDPOINT is left out: %v", err)
		} else {
			c.endpoint = full
		}
	}
	if full := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); full != "" {
		if _, err := tracesURL(full); err != nil {
			notes.add("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is left out: %v", err)
		} else {
			c.endpoint = full // by the standard, taken as it is
		}
	}
	pairs(c.headers, "OTEL_EXPORTER_OTLP_HEADERS")
	pairs(c.headers, "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"} {
		if value := os.Getenv(name); value != "" {
			if ms, err := strconv.Atoi(value); err != nil || ms <= 0 {
				notes.add("%s is left out: must be a positive number of milliseconds, found %q", name, value)
			} else {
				c.timeout = time.Duration(ms) * time.Millisecond
			}
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"} {
		switch value := os.Getenv(name); value {
		case "":
		case "gzip", "none":
			c.gzip = value == "gzip"
		default:
			notes.add("%s is left out: must be gzip or none, found %q", name, value)
		}
	}

	if strings.EqualFold(os.Getenv("COREHOUR_EXPORT"), "stderr") {
		c.writer = os.Stderr
	} else if value := os.Getenv("COREHOUR_EXPORT"); value != "" && !strings.EqualFold(value, "otlp") {
		notes.add("COREHOUR_EXPORT is left out: must be otlp or stderr, found %q", value)
	}
	if value := os.Getenv("COREHOUR_SAMPLE"); strings.EqualFold(value, "off") {
		c.defaults.mode = Off
	} else if value != "" {
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || shareFault("", rate) != "" {
			notes.add("COREHOUR_SAMPLE is left out: must be off or within 0 and 1, found %q", value)
		} else {
			c.defaults.rate = rate
		}
	}
	c.methodFile = os.Getenv("COREHOUR_METHODS")
}

// pairs reads a variable of the form key=value,key=value with escaped values.
// Values may be secrets, so a fault names the key or the place only.
func pairs(into map[string]string, variable string) {
	for i, pair := range strings.Split(os.Getenv(variable), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			notes.add("%s: entry %d is left out: must be key=value with the value URL-escaped", variable, i+1)
			continue
		}
		into[key] = value
	}
}
