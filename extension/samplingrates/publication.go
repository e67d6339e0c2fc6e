package samplingrates

import (
	"fmt"
	"sync"

	"github.com/corehour/corehour/internal/rates"
)

// publication holds the source of rates, if there is one.
type publication struct {
	mu      sync.RWMutex
	current *published // nil = none
}

type published struct {
	owner  string
	source rates.Source
	gone   chan struct{} // closed: withdrawn
}

// Publish makes the source the one that rates are read from.
func (p *publication) Publish(owner string, source rates.Source) (withdraw func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		return nil, fmt.Errorf("%q publishes rates here already, so %q cannot: rates come from one sampler; "+
			"let only one of them name this extension under `rates`, or add a second extension", p.current.owner, owner)
	}
	mine := &published{owner: owner, source: source, gone: make(chan struct{})}
	p.current = mine
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.current == mine {
			p.current = nil
			close(mine.gone)
		}
	}, nil
}

func (p *publication) get() *published {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.current
}
