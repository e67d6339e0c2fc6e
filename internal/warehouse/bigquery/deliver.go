package bigquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/corehour/corehour/internal/methodspan"
)

const (
	// deliveryAttempts is how often a request is sent, at once or after short
	// pauses, before the write fails and the exporter waits longer.
	deliveryAttempts = 4
	// quotaPause bounds the wait that the service may wish for.
	quotaPause = 30 * time.Second
)

// deliver sends a request whose intent is on disk until its outcome is known. If
// that can't be found out now, the request becomes pending; else an error means
// that it is not stored. sent tells that an earlier attempt was left open.
func (w *Writer) deliver(ctx context.Context, r *request, in *intent, sent bool, t *writeResult) error {
	var a answer
	for n := range deliveryAttempts {
		if n > 0 {
			w.reconnects.Add(1)
			if !pause(ctx, w.opts.firstPause<<n) {
				break
			}
		}
		a = w.attempt(ctx, r, in)
		switch a.verdict {
		case stored:
			w.delivered(r, in, t)
			return nil
		case unsure, unreached:
			sent = sent || a.verdict == unsure
			w.disconnect()
			continue
		case badRows:
			left, err := w.setAside(r, a.rows)
			w.journal.end(in, false)
			if err != nil {
				return err
			}
			return w.store(ctx, left, t)
		case lost, unusable:
			return w.moved(ctx, r, in, sent, a, t)
		}
		break
	}
	if sent {
		return w.moved(ctx, r, in, sent, a, t)
	}
	if a.verdict == quota && a.after > 0 {
		pause(ctx, min(a.after, quotaPause))
	}
	w.journal.end(in, false)
	return w.refusal(a)
}

// refusal is the error of a request that is not stored.
func (w *Writer) refusal(a answer) error {
	e := w.fail("append rows", nil, a.err)
	switch {
	case a.verdict == unseen:
		e.Hint = "columns were added to the table; streams see them after some minutes"
	case a.verdict == quota:
		e.Hint = "a quota of the project is used up; rows wait"
	case status.Code(a.err) == codes.PermissionDenied:
		e.Hint = "the account needs the permission bigquery.tables.updateData on the table"
	}
	return e
}

// again sends a request, or what is left of one, as a new intent.
func (w *Writer) again(ctx context.Context, r *request, t *writeResult) error {
	if err := w.ensureStream(ctx); err != nil {
		return err
	}
	in := w.intentOf(r)
	if err := w.journal.begin(in); err != nil {
		return w.fail("write the journal", nil, err)
	}
	return w.deliver(ctx, r, in, false, t)
}

// attempt sends the request once.
func (w *Writer) attempt(ctx context.Context, r *request, in *intent) answer {
	if w.conn == nil || w.conn.stream != in.Stream {
		w.disconnect()
		c, err := connect(ctx, w.channel, in.Stream)
		if err != nil {
			return answer{verdict: unreached, err: err}
		}
		w.conn = c
	}
	resp, err := w.conn.append(ctx, r, in.Offset, w.opts.answerWithin)
	if err != nil {
		w.disconnect()
	}
	return answerOf(resp, err)
}

func (w *Writer) disconnect() {
	if w.conn != nil {
		w.conn.close()
		w.conn = nil
	}
}

func (w *Writer) delivered(r *request, in *intent, t *writeResult) {
	if in.Stream == w.stream {
		w.offset = in.Offset + int64(in.Rows)
	}
	t.res.Rows += len(r.ends)
	t.res.Bytes += int64(len(r.rows))
	w.finish(r, in, t)
}

// moved ends the stream for good if the service has not done so. How many rows it
// holds then says whether the request is among them.
func (w *Writer) moved(ctx context.Context, r *request, in *intent, sent bool, a answer, t *writeResult) error {
	w.disconnect()
	n, known, err := w.finalize(ctx, in.Stream)
	switch {
	case err != nil && sent:
		w.pending = &pending{r, in}
		return w.fail("ask how far a stream got", nil, errors.Join(a.err, err))
	case err != nil:
		w.journal.end(in, false)
		if !slices.Contains(openCodes, status.Code(err)) {
			w.stream = "" // nothing is open on it, so it is of no use to know its end
		}
		a.err = errors.Join(a.err, fmt.Errorf("ask how far a stream got: %w", err))
		return w.refusal(a)
	}
	w.stream = ""
	if known && n >= in.Offset+int64(in.Rows) {
		w.delivered(r, in, t)
		return nil
	}
	if !known && sent {
		// Sent again, the rows might count twice; they are a named loss instead.
		w.unknown.Add(int64(in.Rows))
		w.finish(r, in, t)
		return nil
	}
	w.journal.end(in, false)
	if a.verdict != lost {
		return w.refusal(a)
	}
	return w.again(ctx, r, t)
}

// finalize closes a stream for ever and tells how many rows it holds; known is
// false if the service will never tell.
func (w *Writer) finalize(ctx context.Context, stream string) (rows int64, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.answerWithin)
	defer cancel()
	resp, err := w.client.FinalizeWriteStream(routed(ctx, "name", stream), &storagepb.FinalizeWriteStreamRequest{Name: stream})
	switch status.Code(err) {
	case codes.NotFound, codes.InvalidArgument, codes.FailedPrecondition: // it says no for good
		return 0, false, nil
	}
	return resp.GetRowCount(), err == nil, err
}

// ensureStream makes a committed stream: what is appended to it is in the table
// at once.
func (w *Writer) ensureStream(ctx context.Context) error {
	if w.stream != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.opts.answerWithin)
	defer cancel()
	stream, err := w.createStream(ctx)
	switch status.Code(err) {
	case codes.NotFound, codes.PermissionDenied: // of a table that is gone it says either
		if again := w.opts.remake(ctx, w.restAPI); again != nil {
			return w.fail("create a write stream", nil, fmt.Errorf("%w; %w", err, again))
		}
		stream, err = w.createStream(ctx)
	}
	if err != nil {
		return w.fail("create a write stream", nil, err)
	}
	w.stream, w.offset = stream, 0
	return nil
}

func (w *Writer) createStream(ctx context.Context) (string, error) {
	parent := tablePath(w.opts.Dataset)
	s, err := w.client.CreateWriteStream(routed(ctx, "parent", parent), &storagepb.CreateWriteStreamRequest{
		Parent: parent, WriteStream: &storagepb.WriteStream{Type: storagepb.WriteStream_COMMITTED},
	})
	return s.GetName(), err
}

// setAside takes the rows out that the service refused; they become dead letters.
func (w *Writer) setAside(r *request, rows []*storagepb.RowError) (*request, error) {
	byPlace := map[int]*storagepb.RowError{}
	for _, e := range rows {
		if i := int(e.GetIndex()); i >= 0 && i < len(r.ends) {
			byPlace[i] = e
		}
	}
	if len(byPlace) == 0 {
		return nil, w.fail("append rows", nil, fmt.Errorf("the service refused rows that were not sent, %d of them", len(rows)))
	}
	places := slices.Sorted(maps.Keys(byPlace))
	left := r.without(places)
	for _, i := range places {
		left.letters = append(left.letters, w.letterOf(r.refs[i], Invalid, byPlace[i].GetMessage()))
	}
	return left, nil
}

func (w *Writer) tooLarge(row *methodspan.Row) letter {
	return w.letterOf(row, TooLarge, "the row does not fit into a request")
}

// pause waits for about d; false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
