package export

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// Packer makes bodies in buffers that serve again and again. The HTTP client may
// go on reading a body after it has answered; while it does, the buffers are not
// touched and the next body gets new ones.
type Packer struct {
	Gzip   bool
	zipper *gzip.Writer
	zipped *bytes.Buffer
	plain  []byte
	lent   *atomic.Int64 // bodies in the client's hands
}

// Pack compresses a request, which encode appends to a buffer.
func (p *Packer) Pack(encode func([]byte) []byte) []byte {
	if p.lent == nil || p.lent.Load() > 0 {
		p.plain, p.zipped, p.lent = nil, new(bytes.Buffer), new(atomic.Int64)
	}
	if cap(p.plain) > KeptBuffer || p.zipped.Cap() > KeptBuffer {
		p.plain, p.zipped = nil, new(bytes.Buffer)
	}
	p.plain = encode(p.plain[:0])
	if !p.Gzip {
		return p.plain
	}
	if p.zipper == nil {
		// The fastest level: spans of one method differ in a few bytes, and more
		// effort saves little. The only error is of a level that does not exist.
		p.zipper, _ = gzip.NewWriterLevel(p.zipped, gzip.BestSpeed)
	}
	p.zipped.Reset()
	p.zipper.Reset(p.zipped)
	_, _ = p.zipper.Write(p.plain) // a bytes.Buffer takes everything
	_ = p.zipper.Close()
	return p.zipped.Bytes()
}

// KeptBuffer is how large a buffer may be to be used again. Requests of the usual size
// have a tenth of it; one with long names, or the counts of very many methods, may have
// tens of megabytes.
const KeptBuffer = 4 << 20

// lend gives a packed body to an HTTP request, and records who owns it.
func (p *Packer) lend(req *http.Request, body []byte, at *custody) {
	lent := p.lent
	req.GetBody = func() (io.ReadCloser, error) {
		lent.Add(1)
		return &lentBody{rest: bytes.NewReader(body), at: at, giveBack: sync.OnceFunc(func() { lent.Add(-1) })}, nil
	}
	req.Body, _ = req.GetBody() // never an error
	req.ContentLength = int64(len(body))
	if p.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
}

// custody is whether the body of an attempt can have been sent. Transports of the program
// need not report connections, so one that begins to read may have sent it; and a body that
// is reported as unsent cannot be read any more.
type custody struct{ state atomic.Int32 }

const (
	unread int32 = iota
	handedOver
	withdrawn
)

// hand gives the body away, unless it has been withdrawn.
func (c *custody) hand() bool {
	return c.state.CompareAndSwap(unread, handedOver) || c.state.Load() == handedOver
}

// withdraw takes the body back, unless it has been given away.
func (c *custody) withdraw() bool { return c.state.CompareAndSwap(unread, withdrawn) }

var errWithdrawn = errors.New("the attempt that this body belongs to is over")

type lentBody struct {
	rest     *bytes.Reader
	at       *custody
	giveBack func()
}

func (b *lentBody) Read(p []byte) (int, error) {
	if !b.at.hand() {
		return 0, errWithdrawn
	}
	return b.rest.Read(p)
}

func (b *lentBody) Close() error {
	b.giveBack()
	return nil
}
