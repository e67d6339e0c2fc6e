// Package configtest runs the collector's `validate` on processor configurations, for the tests of components in
// their own packages.
//
// Its invariant: it runs the real command with the real configuration providers.
//
// It starts no component.
package configtest

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// Validate runs `validate` on a pipeline with one processor. section is the processor's configuration as YAML on one
// line. It returns the command's standard error and its error.
func Validate(t *testing.T, factory processor.Factory, section string) (printed string, err error) {
	t.Helper()
	nopReceiver, nopExporter := receivertest.NewNopFactory(), exportertest.NewNopFactory()
	name := factory.Type().String()
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: func() (otelcol.Factories, error) {
			return otelcol.Factories{
				Receivers:  map[component.Type]receiver.Factory{nopReceiver.Type(): nopReceiver},
				Processors: map[component.Type]processor.Factory{factory.Type(): factory},
				Exporters:  map[component.Type]exporter.Factory{nopExporter.Type(): nopExporter},
				Telemetry:  otelconftelemetry.NewFactory(),
			}, nil
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{envprovider.NewFactory(), yamlprovider.NewFactory()},
		}},
	})
	command.SetArgs([]string{"validate", "--config", "yaml:{receivers: {nop: }, exporters: {nop: }, processors: {" + name + ": " + section +
		"}, service: {pipelines: {traces: {receivers: [nop], processors: [" + name + "], exporters: [nop]}}}}"})
	command.SilenceErrors, command.SilenceUsage = true, true
	printed = standardError(t, func() { err = command.ExecuteContext(context.Background()) })
	return printed, err
}

func standardError(t *testing.T, run func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	stderr := os.Stderr
	os.Stderr = w
	read := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		read <- string(all)
	}()
	func() {
		defer func() {
			os.Stderr = stderr
			_ = w.Close()
		}()
		run()
	}()
	return <-read
}
