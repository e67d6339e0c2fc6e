package adaptivesampler

import (
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rates"
)

func (l *controlLoop) publishing() bool { return l.config.Rates != nil }

// publish registers the tables with the extension that serves them.
func (l *controlLoop) publish(host component.Host) error {
	if !l.publishing() {
		return nil
	}
	id := *l.config.Rates
	extension, ok := host.GetExtensions()[id]
	if !ok {
		return fmt.Errorf("`rates` must name an extension of `service::extensions`, found %s: %s", configfile.Quote(id.String()), availableExtensions(host))
	}
	publisher, ok := extension.(rates.Publisher)
	if !ok {
		return fmt.Errorf("`rates` must name an extension that serves rates, found %s of type %s: use a `sampling_rates` extension", configfile.Quote(id.String()), id.Type())
	}
	withdraw, err := publisher.Publish("processors::"+l.id.String(), l)
	if err != nil {
		return fmt.Errorf("`rates` %s: %w", configfile.Quote(id.String()), err)
	}
	l.withdraw = withdraw
	return nil
}

// availableExtensions lists the extensions that the configuration can name.
func availableExtensions(host component.Host) string {
	var names []string
	for id := range host.GetExtensions() {
		names = append(names, configfile.Quote(id.String()))
	}
	if len(names) == 0 {
		return "there is none"
	}
	slices.Sort(names)
	return "there are " + strings.Join(names, ", ")
}

// Rates implements rates.Source. The extension reads the tables through it.
func (l *controlLoop) Rates(target rates.Target) (*rates.Table, <-chan struct{}) {
	return l.served.Rates(target)
}
