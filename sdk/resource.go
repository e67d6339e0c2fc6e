package corehour

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/corehour/corehour/sdk/internal/hostclock"
	"github.com/corehour/corehour/sdk/internal/otlp"
)

// Version of this SDK, sent as telemetry.sdk.version.
const Version = "0.1.0"

// The identity of the process is created once: after a restart of the SDK batch numbers continue.
var (
	processStart = time.Now()
	instanceID   = sync.OnceValue(randomUUID)
	processID    = sync.OnceValue(randomUUID) // distinguishes processes that share a configured instance id
	machine      = sync.OnceValue(hostclock.ReadMachine)
)

func randomUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: the program is stopped if the system has no randomness
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// detected returns the attributes that can be detected without configuration.
func detected() map[string]string {
	attributes := map[string]string{
		"service.name":           "unknown_service:" + filepath.Base(os.Args[0]),
		"service.instance.id":    instanceID(),
		"process.creation.time":  processStart.UTC().Format(time.RFC3339Nano),
		"telemetry.sdk.name":     "corehour",
		"telemetry.sdk.language": "go",
		"telemetry.sdk.version":  Version,
	}
	if host, err := os.Hostname(); err == nil {
		attributes["host.name"] = host
	}
	if id := machine().ID; id != "" {
		attributes["host.id"] = id
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return attributes
	}
	if version := info.Main.Version; version != "" && version != "(devel)" {
		attributes["service.version"] = version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			attributes["vcs.ref.head.revision"] = setting.Value
		}
	}
	return attributes
}

// resourceOf returns all attributes of the process except its id. Configured attributes take
// precedence over detected ones.
func resourceOf(configured map[string]string) map[string]string {
	attributes := detected()
	maps.Copy(attributes, configured)
	delete(attributes, "process.pid") // is a number, and always detected
	return attributes
}

func encodeResource(attributes map[string]string) []byte {
	b := otlp.IntAttribute(nil, otlp.ResourceAttributes, "process.pid", int64(os.Getpid()))
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		b = otlp.StringAttribute(b, otlp.ResourceAttributes, otlp.Text(key), otlp.Text(attributes[key]))
	}
	return b
}
