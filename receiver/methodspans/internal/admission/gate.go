// Package admission bounds the memory that requests take, before they are decoded: a few kilobytes
// can become gigabytes, and a memory limiter in the pipeline sees them only then.
package admission

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/corehour/corehour/internal/partialsuccess"
	"github.com/corehour/corehour/internal/shares"
)

const (
	patience   = 2 * time.Second // of a request that finds no memory
	retryAfter = time.Second
	leastRead  = 4 << 10 // bytes of a body that are read before anything is reserved for it
	copies     = 2       // of a body, while the server behind reads it into memory of its own
)

// Reason is why a request is refused.
type Reason uint8

// The reasons.
const (
	Busy     Reason = iota // no memory within the patience: the sender retries
	TooLarge               // it would never find room
	TooDeep                // values nested too deep
	Reasons
)

// Names of the reasons.
var Names = [Reasons]string{Busy: "busy", TooLarge: "too_large", TooDeep: "too_deep"}

// Gate is a server middleware for both protocols.
type Gate struct {
	component.StartFunc
	component.ShutdownFunc
	budget   *memoryBudget
	requests int64 // over gRPC at once, at most
	refused  func(context.Context, Reason)

	// Authenticate, if set, is called over gRPC to identify the sender, before a message is read.
	// Over HTTP the server does that itself, and over gRPC only when it is decoded.
	Authenticate func(context.Context, map[string][]string) (context.Context, error)

	open    atomic.Int64 // requests over gRPC
	decoded sync.Map     // request over gRPC -> *admitted, while it is served
}

var (
	_ extensionmiddleware.HTTPServer = (*Gate)(nil)
	_ extensionmiddleware.GRPCServer = (*Gate)(nil)
)

// New makes a gate for as many bytes, and as many requests over gRPC at once.
func New(size, requests int64, refused func(context.Context, Reason)) *Gate {
	return &Gate{budget: newMemoryBudget(size), requests: requests, refused: refused}
}

// Reserved returns how many bytes requests have reserved now.
func (g *Gate) Reserved() int64 { return g.budget.bytesReserved() }

// admit reserves what decoding a request needs, and more. While most of the budget is free, its
// messages are not counted: that takes a tenth of the time that decoding does.
func (g *Gate) admit(ctx context.Context, l *reservation, request []byte, count func([]byte) (int64, error), more int64) error {
	if most := mostPerByte*int64(len(request)) + more; l.reserved+most <= g.budget.share()/2 && l.tryReserve(most) {
		return nil
	}
	size, err := count(request)
	size += more
	if err != nil {
		return g.refuse(ctx, TooDeep, err.Error())
	}
	return g.wait(ctx, l, size)
}

// wait reserves memory within the patience.
func (g *Gate) wait(ctx context.Context, l *reservation, size int64) error {
	if l.reserved+size > g.budget.share() {
		return g.refuse(ctx, TooLarge, fmt.Sprintf("the request would take up to %d bytes of memory, and may take %d: "+
			"send fewer spans at once, or raise `limits::decoding_mib` of the receiver", l.reserved+size, g.budget.share()))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if l.reserve(ctx, size) != nil {
		return g.busy(ctx)
	}
	return nil
}

func (g *Gate) busy(ctx context.Context) error {
	return g.refuse(ctx, Busy, "requests being read take all the memory that they may (`limits` of the receiver): try again")
}

// refuse returns the status that both servers answer with.
func (g *Gate) refuse(ctx context.Context, r Reason, message string) error {
	g.refused(ctx, r)
	if r != Busy {
		return status.Error(codes.InvalidArgument, message)
	}
	s := status.New(codes.Unavailable, message)
	if with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
		s = with
	}
	return s.Err()
}

// GetHTTPHandler wraps the handler of a server. Bodies arrive here decompressed.
func (g *Gate) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l := &reservation{budget: g.budget, sender: shares.SenderOf(r.Context())}
			defer l.release()
			ctx, refusals := partialsuccess.NewContext(r.Context())
			r = r.WithContext(ctx)
			r.Body = &body{ReadCloser: r.Body, gate: g, reserved: l, request: r}
			next.ServeHTTP(&answerWriter{ResponseWriter: w, refusals: refusals}, r)
		}), nil
	}, nil
}

// body reads all of a request's body at the first read, and fails with a status where that takes
// too much. The server behind answers with that status.
type body struct {
	io.ReadCloser
	gate     *Gate
	reserved *reservation
	request  *http.Request
	rest     io.Reader
}

func (b *body) Read(p []byte) (int, error) {
	if b.rest == nil {
		read, err := b.admit()
		if err != nil {
			return 0, err
		}
		b.rest = bytes.NewReader(read)
	}
	return b.rest.Read(p)
}

func (b *body) admit() ([]byte, error) {
	ctx := b.request.Context()
	read := make([]byte, 0, leastRead)
	for {
		n, err := b.ReadCloser.Read(read[len(read):cap(read)])
		read = read[:len(read)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(read) < cap(read) {
			continue
		}
		if err := b.gate.wait(ctx, b.reserved, int64(cap(read))); err != nil {
			return nil, err
		}
		read = append(make([]byte, 0, 2*cap(read)), read...)
	}
	count := decodedSize
	if strings.Contains(b.request.Header.Get("Content-Type"), "json") {
		count = decodedSizeJSON
	}
	return read, b.gate.admit(ctx, b.reserved, read, count, copies*int64(len(read)))
}

// GetGRPCServerOptions bounds how many requests are read at once, sizes them before they are
// decoded, and answers those that were refused: an error of the codec would not be retried.
func (g *Gate) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	return []grpc.ServerOption{
		grpc.InTapHandle(g.enter),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name), g}),
		grpc.UnaryInterceptor(g.serve),
	}, nil
}

// enter sees a request before its message is read.
func (g *Gate) enter(ctx context.Context, info *tap.Info) (context.Context, error) {
	if g.Authenticate != nil {
		if _, err := g.Authenticate(ctx, info.Header); err != nil {
			if s, ok := status.FromError(err); ok {
				return ctx, s.Err()
			}
			return ctx, status.Error(codes.Unauthenticated, err.Error())
		}
	}
	if g.open.Add(1) > g.requests {
		g.open.Add(-1)
		return ctx, g.busy(ctx)
	}
	context.AfterFunc(ctx, func() { g.open.Add(-1) }) // the server ends it with the request
	return ctx, nil
}

// admitted is the result for a request that the codec has seen.
type admitted struct {
	reservation
	refusal error
}

type codec struct {
	encoding.CodecV2
	gate *Gate
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	a := &admitted{reservation: reservation{budget: c.gate.budget}}
	if a.refusal = c.gate.admit(context.Background(), &a.reservation, whole.ReadOnlyData(), decodedSize, 0); a.refusal == nil {
		if err := c.CodecV2.Unmarshal(mem.BufferSlice{whole}, v); err != nil {
			a.release()
			return err
		}
	}
	c.gate.decoded.Store(v, a)
	return nil
}

// serve is the outermost interceptor, so it sees every request that was decoded.
func (g *Gate) serve(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if found, ok := g.decoded.LoadAndDelete(request); ok {
		a := found.(*admitted)
		defer a.release()
		if a.refusal != nil {
			return nil, a.refusal
		}
	}
	return answer(ctx, request, next)
}
