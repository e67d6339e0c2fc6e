//go:build linux

package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// victoria is a time series database: imports in three formats, queries over a minute to an hour, and searches for series.
var victoria = server{
	module: "github.com/VictoriaMetrics/VictoriaMetrics@v1.150.0", pkg: "./app/victoria-metrics",
	rate: 25,
	plant: plant{
		class: "github.com/VictoriaMetrics/VictoriaMetrics/lib/workingsetcache.Cache", method: "Get", file: "lib/workingsetcache/cache.go", ns: 900,
		before: "func (c *Cache) Get(dst, key []byte) []byte {",
	},
	args: func(p *process) ([]string, error) {
		return []string{"-storageDataPath", filepath.Join(p.dir, "store"), "-httpListenAddr", p.addresses[0], "-memory.allowedBytes", "256MB",
			"-search.latencyOffset", "1s"}, nil
	},
	ready:   func(p *process) string { return "http://" + p.addresses[0] + "/health" },
	profile: func(p *process) string { return "http://" + p.addresses[0] + "/debug/pprof/profile" },
	connect: func(_ context.Context, p *process) (client, error) {
		return &victoriaClient{newHTTPClient("http://" + p.addresses[0])}, nil
	},
}

type victoriaClient struct{ *httpClient }

var victoriaQueries = []string{
	`sum(rate(requests_total[1m])) by (path)`,
	`histogram_quantile(0.9, sum(rate(latency_bucket[2m])) by (le))`,
	`topk(3, avg_over_time(cpu_usage{host=~"host-1.*"}[1m]))`,
	`max(requests_total{path!="/p3"}) by (job) / ignoring(x) group_left min(requests_total) by (job)`,
	`label_replace(cpu_usage, "short", "$1", "host", "host-(.+)") > 10`,
	`avg_over_time(cpu_usage[5m]) or increase(requests_total[5m])`,
}

func (c *victoriaClient) round(ctx context.Context, n int) error {
	now := time.Now()
	var prometheus, influx, graphite strings.Builder
	for i := range 40 {
		fmt.Fprintf(&prometheus, "requests_total{job=\"shop\",path=\"/p%d\",instance=\"i-%d\"} %d\n", i%8, i/8, n*(i+1))
		fmt.Fprintf(&influx, "cpu,host=host-%d,zone=z%d usage=%d.5,idle=%d %d\n", i, i%3, (n*7+i*13)%100, (n+i)%50, now.UnixNano())
	}
	for i := range 12 {
		fmt.Fprintf(&prometheus, "latency_bucket{job=\"shop\",le=\"%g\"} %d\n", 0.01*float64(i+1), n*(i+1))
		fmt.Fprintf(&graphite, `{"metric":{"__name__":"memory_used","host":"host-%d"},"values":[%d],"timestamps":[%d]}`+"\n", i, n*1024+i, now.UnixMilli())
	}
	if _, err := c.send(ctx, "POST", "/api/v1/import/prometheus", prometheus.String()); err != nil {
		return err
	}
	if _, err := c.send(ctx, "POST", "/write?db=shop", influx.String()); err != nil {
		return err
	}
	if _, err := c.send(ctx, "POST", "/api/v1/import", graphite.String()); err != nil {
		return err
	}
	for i := range 2 {
		query := url.Values{"query": {victoriaQueries[(n+3*i)%len(victoriaQueries)]}}
		path := "/api/v1/query"
		if i == 1 {
			path = "/api/v1/query_range"
			query.Set("step", "15s")
			query.Set("nocache", fmt.Sprint(n%2))
			query.Set("start", fmt.Sprint(now.Add(-10*time.Minute).Unix()))
			query.Set("end", fmt.Sprint(now.Unix()))
		}
		if _, err := c.send(ctx, "GET", path+"?"+query.Encode(), ""); err != nil {
			return err
		}
	}
	path := ""
	switch n % 20 {
	case 3:
		path = "/api/v1/series?match[]=" + url.QueryEscape(`{host=~"host-2.*"}`)
	case 7:
		path = "/api/v1/labels"
	case 11:
		path = "/api/v1/label/host/values"
	case 13:
		path = "/api/v1/status/tsdb"
	case 15:
		path = "/metrics"
	case 17:
		path = "/api/v1/export?match[]=memory_used&start=" + fmt.Sprint(now.Add(-2*time.Minute).Unix())
	case 19:
		path = "/federate?match[]=requests_total"
	}
	if path == "" {
		return nil
	}
	_, err := c.send(ctx, "GET", path, "")
	return err
}
