package methodspans

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/corehour/corehour/internal/methodspan"
)

// The narrowest identifying attributes are used; a name that several processes can share has a mark.
func TestInstanceOf_Resources(t *testing.T) {
	connection, address := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 40123}, &net.IPAddr{IP: net.IPv4(10, 0, 0, 7)}
	for _, c := range []struct {
		resource map[string]any
		peer     net.Addr
		want     string
	}{
		{nil, nil, ""},
		{nil, connection, "~10.0.0.7:40123"},
		{nil, address, "~10.0.0.7"},
		{nil, &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 1}, "~[fe80::1]:1"},
		{nil, &net.UnixAddr{}, ""},
		{map[string]any{"process.pid": 12}, nil, "~pid/12"},
		{map[string]any{"process.pid": 12}, connection, "~10.0.0.7/12"},
		{map[string]any{"process.pid": 12}, address, "~10.0.0.7/12"},
		{map[string]any{"host.name": "web-1"}, connection, "~web-1"},
		{map[string]any{"host.name": "web-1", "process.pid": 12}, connection, "web-1/12"},
		{map[string]any{"host.name": "web-1", "host.id": "i-0a1", "process.pid": 12}, nil, "i-0a1/12"},
		{map[string]any{"host.name": "web-1", "container.id": "4f1c"}, connection, "4f1c"},
		{map[string]any{"host.name": "web-1", "container.id": "4f1c", "process.pid": 1}, connection, "4f1c/1"},
		{map[string]any{"k8s.pod.name": "web-7d9f"}, connection, "web-7d9f"},
		{map[string]any{"k8s.pod.name": "web-7d9f", "k8s.namespace.name": "shop"}, connection, "shop/web-7d9f"},
		{map[string]any{"k8s.pod.name": "web-7d9f", "k8s.namespace.name": "shop", "k8s.pod.uid": "1f0a", "k8s.container.name": "app"}, connection, "1f0a/app"},
		{map[string]any{"k8s.pod.uid": "1f0a", "process.pid": 7}, connection, "1f0a/7"},
		{map[string]any{"k8s.namespace.name": "shop"}, connection, "~10.0.0.7:40123"},
		{map[string]any{"host.name": ""}, connection, "~10.0.0.7:40123"},
		{map[string]any{"faas.instance": "2026/03/10/[1]a"}, address, "2026/03/10/[1]a"},
		{map[string]any{"aws.ecs.task.arn": "arn:aws:ecs:eu-west-1:1:task/a"}, address, "arn:aws:ecs:eu-west-1:1:task/a"},
	} {
		resource := pcommon.NewResource()
		require.NoError(t, resource.Attributes().FromRaw(c.resource))
		assert.Equal(t, c.want, instanceOf(resource, c.peer), "%v from %v", c.resource, c.peer)
	}
}

// sentBy is a span of a stock SDK, of a resource.
func sentBy(t *testing.T, resource map[string]any) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	require.NoError(t, rs.Resource().Attributes().FromRaw(resource))
	span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName("GET /")
	span.SetTraceID(pcommon.TraceID{15: 1})
	span.SetSpanID(pcommon.SpanID{7: 1})
	span.SetStartTimestamp(pcommon.Timestamp(noon))
	span.SetEndTimestamp(pcommon.Timestamp(noon + 1))
	return td
}

// Processes without identifying attributes are distinguished by their connections; names from the
// process or an upstream collector stay.
func TestInstanceOf_Connections(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	other, err := grpc.NewClient(r.grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer other.Close()
	clients := []ptraceotlp.GRPCClient{r.client, ptraceotlp.NewGRPCClient(other)}
	instances := map[string]int{}
	for i := range 3 {
		for j, c := range clients {
			td := sentBy(t, map[string]any{"service.name": "web"})
			td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetSpanID(pcommon.SpanID{byte(i + 1), byte(j)}) // no duplicate
			_, err := c.Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(td))
			require.NoError(t, err)
		}
	}
	for _, td := range r.sink.AllTraces() {
		resource := methodspan.ReadResource(td.ResourceSpans().At(0).Resource())
		instances[resource.Instance]++
		assert.False(t, resource.Identified())
	}
	assert.Equal(t, []int{3, 3}, slices.Collect(maps.Values(instances)), "%v", instances)
	for name := range instances {
		assert.True(t, strings.HasPrefix(name, methodspan.MayBeMerged+"127.0.0.1:") || strings.HasPrefix(name, methodspan.MayBeMerged+"[::1]:"), name)
	}

	for _, c := range []struct {
		resource map[string]any
		want     string
	}{
		{map[string]any{"service.name": "web", "service.instance.id": "a", "host.name": "h", "process.pid": 1}, "a"},
		{map[string]any{"service.name": "web", methodspan.AttrInstance: "of before"}, "of before"},
	} {
		r.sink.Reset()
		_, err := r.client.Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(sentBy(t, c.resource)))
		require.NoError(t, err)
		got := r.sink.AllTraces()[0].ResourceSpans().At(0).Resource()
		assert.Equal(t, c.want, methodspan.ReadResource(got).Instance)
		assert.Equal(t, len(c.resource), got.Attributes().Len(), "nothing is added")
	}

	// Names from a sender are within the bound.
	r.sink.Reset()
	_, err = r.client.Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(sentBy(t, map[string]any{"service.name": "web", methodspan.AttrInstance: strings.Repeat("x", 10_000)})))
	require.NoError(t, err)
	assert.Len(t, methodspan.ReadResource(r.sink.AllTraces()[0].ResourceSpans().At(0).Resource()).Instance, 512)
	assert.Equal(t, []string{"corrected text_too_long"}, r.faults())

	// A span that is no method span passes unchanged.
	r = start(t, testConfig(func(c *Config) { c.Foreign = ForeignCode }), nil)
	_, err = r.client.Export(context.Background(), ptraceotlp.NewExportRequestFromTraces(sentBy(t, map[string]any{"service.name": "web"})))
	require.NoError(t, err)
	assert.Equal(t, 1, r.sink.AllTraces()[0].ResourceSpans().At(0).Resource().Attributes().Len())
}
