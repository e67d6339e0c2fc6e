//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is a set of clients that poll as the SDK does.
type crowd struct {
	url     string
	http    *http.Client
	clients []*client
	bytes   atomic.Int64 // size of the last answer on the wire
	waiting atomic.Int64
	fault   atomic.Pointer[error]
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// client is one client of a crowd.
type client struct {
	etag    string
	answers atomic.Int64
	learned atomic.Int64 // time of the last answer
}

func newCrowd(ctx context.Context, address string, n int) *crowd {
	c := &crowd{
		url:  "http://" + address + "/v1/rates?namespace=&service=shop&environment=prod&version=1&instance=",
		http: &http.Client{Transport: &http.Transport{MaxIdleConns: n, MaxIdleConnsPerHost: n, DisableCompression: true}},
	}
	ctx, c.cancel = context.WithCancel(ctx)
	for i := range n {
		one := &client{}
		c.clients = append(c.clients, one)
		c.done.Go(func() { c.live(ctx, one, i) })
	}
	return c
}

func (c *crowd) leave() {
	c.cancel()
	c.done.Wait()
	c.http.CloseIdleConnections()
}

// live polls with the pauses of the SDK: 0.75 to 1.25 seconds from the start of one poll to the next.
func (c *crowd) live(ctx context.Context, one *client, i int) {
	for ctx.Err() == nil {
		began := time.Now()
		c.waiting.Add(1)
		err := c.poll(ctx, one, fmt.Sprintf("%d&wait=25s", i))
		c.waiting.Add(-1)
		if err != nil && ctx.Err() == nil {
			c.fault.CompareAndSwap(nil, &err)
			return
		}
		pause := time.Duration((0.75 + rand.Float64()/2) * float64(time.Second))
		select {
		case <-ctx.Done():
		case <-time.After(pause - time.Since(began)):
		}
	}
}

// poll polls once and reads the answer as the SDK does.
func (c *crowd) poll(ctx context.Context, one *client, query string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+query, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	if one.etag != "" {
		request.Header.Set("If-None-Match", one.etag)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotModified:
		return nil
	case http.StatusOK:
	default:
		return fmt.Errorf("answered %s", response.Status)
	}
	packed, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	one.learned.Store(time.Now().UnixNano())
	one.etag = response.Header.Get("ETag")
	c.bytes.Store(int64(len(packed)))
	one.answers.Add(1)
	return nil
}

// awaitAll waits until every client has received at least answers answers.
func (c *crowd) awaitAll(ctx context.Context, answers int) error {
	return c.await(ctx, fmt.Sprintf("answer %d to reach everybody", answers), func() bool {
		for _, one := range c.clients {
			if one.answers.Load() < int64(answers) {
				return false
			}
		}
		return true
	})
}

// awaitWaiting waits until every client polls again, and a moment longer for the polls to arrive.
func (c *crowd) awaitWaiting(ctx context.Context) error {
	if err := c.await(ctx, "everybody to wait", func() bool { return c.waiting.Load() == int64(len(c.clients)) }); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
		return nil
	}
}

const patience = time.Minute

func (c *crowd) await(ctx context.Context, what string, holds func() bool) error {
	for end := time.Now().Add(patience); !holds(); {
		if fault := c.fault.Load(); fault != nil {
			return *fault
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %s still waiting for %s", patience, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// known returns, by client, the time at which it received the last change.
func (c *crowd) known() []int64 {
	all := make([]int64, len(c.clients))
	for i, one := range c.clients {
		all[i] = one.learned.Load()
	}
	return all
}

// pollAtOnce sends each polls per client, which do not wait for news. 50 polls run in parallel, on other
// connections than the waiting polls.
func (c *crowd) pollAtOnce(ctx context.Context, each int) error {
	const atOnce = 50
	etag := c.clients[0].etag
	var wg sync.WaitGroup
	faults := make([]error, atOnce)
	for worker := range atOnce {
		wg.Go(func() {
			for i := worker; i < each*len(c.clients) && faults[worker] == nil; i += atOnce {
				faults[worker] = c.poll(ctx, &client{etag: etag}, fmt.Sprintf("%d&wait=0s", i))
			}
		})
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}
