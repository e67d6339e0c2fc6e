package methodspans

import (
	"cmp"
	"context"
	"net"
	"strings"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/shares"
)

// instancePlaces holds attributes of the semantic conventions that identify where a process
// runs, the narrowest first. A place counts if the resource has all of its attributes. If alone
// is true, as for containers, the process is assumed to be the only one there.
var instancePlaces = []struct {
	attributes []string
	alone      bool
}{
	{[]string{"container.id"}, true},
	{[]string{"k8s.pod.uid", "k8s.container.name"}, true},
	{[]string{"k8s.pod.uid"}, true},
	{[]string{"k8s.namespace.name", "k8s.pod.name", "k8s.container.name"}, true},
	{[]string{"k8s.namespace.name", "k8s.pod.name"}, true},
	{[]string{"k8s.pod.name"}, true},
	{[]string{"aws.ecs.container.arn"}, true},
	{[]string{"aws.ecs.task.arn"}, true},
	{[]string{"faas.instance"}, true},
	{[]string{methodspan.ResourceHostID}, false},
	{[]string{methodspan.ResourceHost}, false},
}

// instanceOf returns a name for the process of a resource without service.instance.id: from
// other identifying attributes, which stay the same when a collector restarts, else from its
// sender. A name that several processes can share starts with methodspan.MayBeMerged.
func instanceOf(resource pcommon.Resource, peer net.Addr) string {
	text := func(names ...string) string {
		parts := make([]string, len(names))
		for i, name := range names {
			v, ok := resource.Attributes().Get(name)
			if !ok || v.AsString() == "" {
				return ""
			}
			parts[i] = v.AsString()
		}
		return strings.Join(parts, "/")
	}
	pid := text("process.pid")
	for _, place := range instancePlaces {
		switch name := text(place.attributes...); {
		case name == "":
		case pid != "":
			return name + "/" + pid
		case place.alone:
			return name
		default:
			return methodspan.MayBeMerged + name
		}
	}
	if pid != "" { // in containers it is mostly 1
		return methodspan.MayBeMerged + cmp.Or(shares.AddressOf(peer), "pid") + "/" + pid
	}
	if peer == nil || peer.String() == "" {
		return ""
	}
	return methodspan.MayBeMerged + peer.String()
}

// peerOf returns the sender of a request: for gRPC the connection, for HTTP the address.
func peerOf(ctx context.Context) net.Addr { return client.FromContext(ctx).Addr }

// nameInstance writes the name that the receiver gave to the process of a resource.
func (n *normalizer) nameInstance(resource pcommon.Resource, p *requestPass) {
	if name := p.foreign.instance; name != "" && !p.foreign.named {
		resource.Attributes().PutStr(methodspan.AttrInstance, name)
	}
}

// findInstance sets the name of the process: from the resource, else from instanceOf.
func (n *normalizer) findInstance(resource pcommon.Resource, p *requestPass) {
	if p.resource.Instance != "" { // AttrInstance included, which an upstream collector wrote
		p.foreign.instance, p.foreign.named = p.resource.Instance, true
		return
	}
	p.foreign.instance, p.foreign.named = validUTF8(instanceOf(resource, p.peer)), false
	if len(p.foreign.instance) > n.limits.MaxNameLength {
		p.fault(textTooLong, corrected)
		p.foreign.instance = shortened(p.foreign.instance, n.limits.MaxNameLength)
	}
}
