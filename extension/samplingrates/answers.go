package samplingrates

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"sync"

	"github.com/jaegertracing/jaeger-idl/proto-gen/api_v2"
)

// answerKey is the endpoint and the target of an answer.
type answerKey struct {
	endpoint                                 endpoint
	namespace, service, environment, version string
}

// answer is a table encoded for one endpoint: once, at the first request.
type answer struct {
	key      answerKey
	revision string
	once     sync.Once
	plain    []byte
	packed   []byte                           // gzip
	strategy *strategy                        // of endpoint sampling: its content
	message  *api_v2.SamplingStrategyResponse // and that for gRPC
	err      error

	accounted bool // its bytes are counted; guarded by the mutex of answers
}

// answers caches encoded answers: one for each endpoint and target, with the newest table. The least recently
// used are evicted first.
type answers struct {
	mu    sync.Mutex
	most  int // bytes
	bytes int
	order *list.List // of *answer, the most recently used in front
	byKey map[answerKey]*list.Element
}

func newAnswers(most int) *answers {
	return &answers{most: most, order: list.New(), byKey: make(map[answerKey]*list.Element)}
}

func (a *answers) size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.byKey))
}

// answerFor returns the answer for this revision, encoded by encode if it is new, and the number answerFor evicted answers.
func (a *answers) answerFor(key answerKey, revision string, encode func(*answer) ([]byte, error)) (*answer, int64) {
	found := a.place(key, revision)
	var gone int64
	found.once.Do(func() {
		if found.plain, found.err = encode(found); found.err == nil {
			found.packed, found.err = pack(found.plain)
		}
		gone = a.account(found)
	})
	return found, gone
}

func (a *answers) place(key answerKey, revision string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.byKey[key]; ok {
		if found := at.Value.(*answer); found.revision == revision {
			a.order.MoveToFront(at)
			return found
		}
		a.remove(at)
	}
	made := &answer{key: key, revision: revision}
	a.byKey[key] = a.order.PushFront(made)
	return made
}

// weight returns the approximate memory of an answer: its texts, and a constant for the rest.
func (a *answer) weight() int {
	k := &a.key
	names := len(k.namespace) + len(k.service) + len(k.environment) + len(k.version)
	n := len(a.plain) + cap(a.packed) + len(a.revision) + names + 512
	if a.strategy != nil {
		n += a.strategy.weightOfNames() + (8+messageWeight)*len(a.strategy.probabilities)
	}
	return n
}

// account counts the bytes of a new answer, unless it was replaced meanwhile.
func (a *answers) account(made *answer) (gone int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.byKey[made.key]
	if !ok || at.Value.(*answer) != made {
		return 0
	}
	a.bytes += made.weight()
	made.accounted = true
	for a.bytes > a.most && a.order.Len() > 0 {
		a.remove(a.order.Back())
		gone++
	}
	return gone
}

func (a *answers) remove(at *list.Element) {
	old := a.order.Remove(at).(*answer)
	delete(a.byKey, old.key)
	if old.accounted {
		a.bytes -= old.weight()
	}
}

func pack(plain []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(plain)
	if err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}
