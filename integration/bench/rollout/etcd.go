//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	etcdv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcd is a key-value store with consensus: puts, gets, ranges in order, transactions, watches, leases and compactions.
var etcd = server{
	module: "go.etcd.io/etcd/server/v3@v3.7.3", pkg: ".",
	replaced: []string{"go.etcd.io/etcd/api/v3", "go.etcd.io/etcd/client/pkg/v3", "go.etcd.io/etcd/client/v3", "go.etcd.io/etcd/pkg/v3"},
	rate:     60,
	plant: plant{
		class: "go.etcd.io/etcd/server/v3/storage/mvcc.storeTxnCommon", method: "rangeKeys", file: "storage/mvcc/kvstore_txn.go", ns: 4500,
		before: "func (tr *storeTxnCommon) rangeKeys(ctx context.Context, key, end []byte, curRev int64, ro RangeOptions) (*RangeResult, error) {",
	},
	args: func(p *process) ([]string, error) {
		clients, peers := "http://"+p.addresses[0], "http://"+p.addresses[1]
		return []string{"--data-dir", filepath.Join(p.dir, "store"), "--enable-pprof", "--log-level", "warn", "--unsafe-no-fsync",
			"--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
			"--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers, "--snapshot-count", "5000"}, nil
	},
	ready:   func(p *process) string { return "http://" + p.addresses[0] + "/health" },
	profile: func(p *process) string { return "http://" + p.addresses[0] + "/debug/pprof/profile" },
	connect: connectETCD,
}

type etcdClient struct {
	*etcdv3.Client
	http  *httpClient
	lease atomic.Int64
}

func connectETCD(ctx context.Context, p *process) (client, error) {
	c, err := etcdv3.New(etcdv3.Config{Endpoints: []string{"http://" + p.addresses[0]}, DialTimeout: 30 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	for range 5 {
		changes := c.Watch(ctx, "orders/1", etcdv3.WithPrefix(), etcdv3.WithPrevKV())
		go func() {
			for range changes {
			}
		}()
	}
	return &etcdClient{Client: c, http: newHTTPClient("http://" + p.addresses[0])}, nil
}

func (c *etcdClient) round(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	key := func(i int) string { return fmt.Sprintf("orders/%d/%d", (n+7*i)%20, (n/20+i)%100) }
	value := strings.Repeat("v", 200)
	for i := range 3 {
		if _, err := c.Put(ctx, key(i), value, []etcdv3.OpOption{etcdv3.WithPrevKV(), etcdv3.WithLease(0)}[i%2]); err != nil {
			return err
		}
		if _, err := c.Get(ctx, key(i), []etcdv3.OpOption{etcdv3.WithSerializable(), etcdv3.WithRev(0)}[i%2]); err != nil {
			return err
		}
	}
	directory := fmt.Sprintf("orders/%d/", n%20)
	if _, err := c.Get(ctx, directory, etcdv3.WithPrefix(), etcdv3.WithLimit(60), etcdv3.WithSort(etcdv3.SortByModRevision, etcdv3.SortDescend)); err != nil {
		return err
	}
	if _, err := c.Get(ctx, directory, etcdv3.WithPrefix(), etcdv3.WithCountOnly()); err != nil {
		return err
	}
	if _, err := c.Txn(ctx).If(etcdv3.Compare(etcdv3.Version(key(1)), ">", 0)).
		Then(etcdv3.OpPut(key(1), value), etcdv3.OpGet(key(2))).Else(etcdv3.OpPut(key(1), value)).Commit(); err != nil {
		return err
	}
	return c.seldom(ctx, n)
}

// seldom sends the rarer requests.
func (c *etcdClient) seldom(ctx context.Context, n int) (err error) {
	switch n % 20 {
	case 1:
		var granted *etcdv3.LeaseGrantResponse
		if granted, err = c.Grant(ctx, 60); err == nil {
			c.lease.Store(int64(granted.ID))
			_, err = c.Put(ctx, fmt.Sprint("session/", n), "up", etcdv3.WithLease(granted.ID))
		}
	case 2, 12:
		if lease := c.lease.Load(); lease != 0 {
			_, err = c.TimeToLive(ctx, etcdv3.LeaseID(lease), etcdv3.WithAttachedKeys())
		}
	case 5:
		_, err = c.Delete(ctx, fmt.Sprintf("orders/7/%d", n/20%100), etcdv3.WithPrevKV())
	case 7:
		_, err = c.Status(ctx, c.Endpoints()[0])
	case 9:
		_, err = c.MemberList(ctx)
	case 11:
		_, err = c.HashKV(ctx, c.Endpoints()[0], 0)
	case 15:
		_, err = c.http.send(ctx, "GET", "/metrics", "")
	case 18:
		if lease := c.lease.Swap(0); lease != 0 {
			_, err = c.Revoke(ctx, etcdv3.LeaseID(lease))
		}
	case 19:
		if n%200 == 199 {
			var got *etcdv3.GetResponse
			if got, err = c.Get(ctx, "orders/0/0"); err == nil {
				_, err = c.Compact(ctx, got.Header.Revision)
			}
		}
	}
	return err
}

func (c *etcdClient) close() {
	_ = c.Close()
	c.http.close()
}
