package filestorage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	contrib "github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const queueName = "exporter_warehouse__traces"

// startStorage starts the extension and returns its count of damaged files by outcome.
func startStorage(t *testing.T, directory string) (storage.Extension, func(outcome string) int64) {
	t.Helper()
	factory := NewFactory()
	cfg := factory.CreateDefaultConfig().(*contrib.Config)
	cfg.Directory = directory
	reader := sdkmetric.NewManualReader()
	set := extensiontest.NewNopSettings(factory.Type())
	set.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	ext, err := factory.Create(t.Context(), set, cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, ext.Shutdown(context.Background())) })
	return ext.(storage.Extension), func(outcome string) (n int64) {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &all))
		for _, scope := range all.ScopeMetrics {
			for _, point := range scope.Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
				if got, _ := point.Attributes.Value("outcome"); got.AsString() == outcome {
					n += point.Value
				}
			}
		}
		return n
	}
}

func openQueue(t *testing.T, ext storage.Extension) storage.Client {
	t.Helper()
	client, err := ext.GetClient(t.Context(), component.KindExporter, component.MustNewID("warehouse"), "traces")
	require.NoError(t, err)
	return client
}

// writeQueue writes a queue of many pages in which values were replaced and deleted.
func writeQueue(t *testing.T) (data []byte, want map[string][]byte) {
	t.Helper()
	directory := t.TempDir()
	ext, _ := startStorage(t, directory)
	client := openQueue(t, ext)
	rng := rand.New(rand.NewPCG(1, 1))
	want = map[string][]byte{}
	for i := range 250 {
		key := fmt.Sprint(i)
		want[key] = bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(6000))
		require.NoError(t, client.Set(t.Context(), key, want[key]))
		if n := fmt.Sprint(rng.IntN(i + 1)); rng.IntN(3) == 0 {
			delete(want, n)
			require.NoError(t, client.Delete(t.Context(), n))
		}
	}
	require.NoError(t, client.Close(t.Context()))
	data, err := os.ReadFile(filepath.Join(directory, queueName))
	require.NoError(t, err)
	return data, want
}

// Random pages of a stored queue are damaged, and the file is truncated. A panic of bbolt would end this test: the
// queue opens each time, its requests can be read and replaced, and a file that was moved aside is complete and counted.
func TestFileStorage_DamagedPages(t *testing.T) {
	whole, want := writeQueue(t)
	const pageSize = 4096
	type damage struct {
		name string
		data []byte
	}
	damages := []damage{{"none", whole}}
	rng := rand.New(rand.NewPCG(2, 2))
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for range rounds {
		for place, span := range map[string]int{"header": 16, "elements": 200, "page": pageSize} {
			page, data := rng.IntN(len(whole)/pageSize), bytes.Clone(whole)
			for range 1 + rng.IntN(3) {
				data[page*pageSize+rng.IntN(span)] ^= 1 << rng.IntN(8)
			}
			damages = append(damages, damage{fmt.Sprintf("page %d %s", page, place), data})
		}
		n := 1 + rng.IntN(len(whole)-1)
		damages = append(damages, damage{fmt.Sprintf("truncated to %d", n), whole[:n]})
	}
	for page := 2; page < 12; page++ {
		data := bytes.Clone(whole)
		data[page*pageSize+15] |= 0x40
		damages = append(damages, damage{fmt.Sprintf("page %d extends over 2^30 pages", page), data})
	}
	for at := range 2 {
		data := bytes.Clone(whole)
		data[at*pageSize+16+20] ^= 1
		damages = append(damages, damage{fmt.Sprintf("meta %d", at), data})
	}
	moved, kept := 0, 0
	for _, d := range damages {
		t.Log(d.name) // a panic in a goroutine of bbolt would end the test here
		directory := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(directory, queueName), d.data, 0o600))
		ext, damaged := startStorage(t, directory)
		client := openQueue(t, ext)
		found := 0
		for key, value := range want {
			got, err := client.Get(t.Context(), key)
			require.NoError(t, err, d.name)
			if got != nil && len(got) == len(value) { // checksums of the exporter find flipped bits
				found++
			}
			require.NoError(t, client.Delete(t.Context(), key), d.name)
			require.NoError(t, client.Set(t.Context(), key+"x", bytes.Repeat([]byte("new"), 300)), d.name)
		}
		require.NoError(t, client.Close(t.Context()), d.name)
		aside, err := filepath.Glob(filepath.Join(directory, "*.damaged-*"))
		require.NoError(t, err)
		assert.EqualValues(t, len(aside), damaged("moved"), d.name)
		switch {
		case len(aside) > 0:
			moved++
			assert.Zero(t, found, d.name)
			rest, err := os.ReadFile(aside[0])
			require.NoError(t, err)
			assert.True(t, bytes.Equal(d.data, rest), d.name)
		case d.name == "none":
			assert.Equal(t, len(want), found)
			assert.Zero(t, damaged("kept"))
		default:
			kept++
			if len(d.name) == len("meta 0") {
				assert.EqualValues(t, 1, damaged("kept"), d.name)
			}
		}
	}
	t.Logf("%d damaged files: %d moved aside, %d kept", len(damages)-1, moved, kept)
	assert.Greater(t, moved, rounds)
}

// A file that another process uses stays, whatever it contains.
func TestFileStorage_FileInUse(t *testing.T) {
	directory := t.TempDir()
	first, _ := startStorage(t, directory)
	client := openQueue(t, first)
	_, damaged := startStorage(t, directory)
	assert.Zero(t, damaged("moved"))
	require.NoError(t, client.Set(t.Context(), "1", []byte("request")))
	require.NoError(t, client.Close(t.Context()))
}
