package methodspan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// ResourceColumns holds the resource attributes that rows have columns for.
var ResourceColumns = map[string]bool{
	ResourceServiceNamespace: true, ResourceService: true, ResourceVersion: true, ResourceInstance: true, AttrInstance: true,
	ResourceEnvironment: true, ResourceOldEnvironment: true, ResourceRevision: true, ResourceHost: true, ResourceHostType: true,
	ResourceHostID: true, ResourceNodeUID: true, ResourceNode: true,
	ResourceCloudProvider: true, ResourceRegion: true, ResourceCapacityType: true, ResourceLanguage: true, ResourceProcessStart: true, AttrPriceSource: true,
}

// ParsedResource holds the attributes of one resource.
type ParsedResource struct {
	Resource
	NamedByReceiver bool    // Instance is AttrInstance: the sender gave no service.instance.id
	SDK             string  // telemetry.sdk.name
	Price           float64 // USD per core hour; 0 = no valid price
	PriceSource     string
}

// ReadResource returns the attributes of a resource.
func ReadResource(res pcommon.Resource) *ParsedResource {
	r := &ParsedResource{}
	r.Read(res)
	return r
}

// Read sets r to the attributes of a resource. The host is the Kubernetes node even if the
// pod has a host.id of its own: in a container that may be the id of the image.
func (r *ParsedResource) Read(res pcommon.Resource) {
	*r = ParsedResource{}
	var nodeUID, node, given, oldEnvironment string
	for name, v := range res.Attributes().All() {
		switch name {
		case ResourceServiceNamespace:
			r.ServiceNamespace = v.AsString()
		case ResourceService:
			r.Service = v.AsString()
		case ResourceVersion:
			r.Version = v.AsString()
		case ResourceInstance:
			r.Instance = v.AsString()
		case AttrInstance:
			given = v.AsString()
		case ResourceEnvironment:
			r.Environment = v.AsString()
		case ResourceOldEnvironment:
			oldEnvironment = v.AsString()
		case ResourceRevision:
			r.Revision = v.AsString()
		case ResourceHost:
			r.Host = v.AsString()
		case ResourceHostID:
			r.HostID = v.AsString()
		case ResourceNodeUID:
			nodeUID = v.AsString()
		case ResourceNode:
			node = v.AsString()
		case ResourceHostType:
			r.HostType = v.AsString()
		case ResourceCloudProvider:
			r.CloudProvider = v.AsString()
		case ResourceRegion:
			r.Region = v.AsString()
		case ResourceCapacityType:
			r.CapacityType = v.AsString()
		case ResourceLanguage:
			r.Language = v.AsString()
		case ResourceSDK:
			r.SDK = v.AsString()
		case ResourceProcessStart:
			if t, ok := ProcessStart(v.Str()); ok {
				r.ProcessStartNS = t.UnixNano()
			}
		case AttrPrice:
			if price, _ := finiteOf(v); price > 0 {
				r.Price = price
			}
		case AttrPriceSource:
			r.PriceSource = v.Str()
		}
	}
	r.HostID = cmp.Or(nodeUID, node, r.HostID)
	r.Environment = cmp.Or(r.Environment, oldEnvironment)
	if r.Instance == "" {
		r.Instance, r.NamedByReceiver = given, given != ""
	}
}

// ProcessStart parses the start time of a process, in RFC 3339. It returns false if int64
// nanoseconds since 1970 cannot represent the time.
func ProcessStart(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil && t.Equal(time.Unix(0, t.UnixNano()))
}

// ProcessKey identifies a process: in reconciliation, in the receiver's memory of batches
// and in the ids of queue items.
type ProcessKey struct {
	ServiceNamespace string
	Service          string
	Version          string
	Environment      string
	Instance         string
	ProcessStartNS   int64
}

// Key returns the identity of the process that the resource describes.
func (r *Resource) Key() ProcessKey {
	return ProcessKey{r.ServiceNamespace, r.Service, r.Version, r.Environment, r.Instance, r.ProcessStartNS}
}

// Identified reports whether the process can be distinguished from every other one.
func (r *Resource) Identified() bool {
	return r.Instance != "" && !strings.HasPrefix(r.Instance, MayBeMerged) && r.ProcessStartNS != 0
}

// Hash returns the process as 32 hex digits. The hashed parts are length-prefixed, so that
// different identities have different input.
func (k ProcessKey) Hash() string {
	var buf []byte
	for _, part := range [...]string{k.ServiceNamespace, k.Service, k.Version, k.Environment, k.Instance} {
		buf = binary.AppendUvarint(buf, uint64(len(part)))
		buf = append(buf, part...)
	}
	buf = binary.BigEndian.AppendUint64(buf, uint64(k.ProcessStartNS))
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16])
}

// BatchOf returns the batch number and the total of calls that the corehour SDK puts on
// every export request. It returns false for other senders, whose requests have no number.
func BatchOf(scope pcommon.InstrumentationScope) (seq, callsTotal int64, ok bool) {
	v, ok := scope.Attributes().Get(AttrBatchSeq)
	if !ok {
		return 0, 0, false
	}
	seq, ok = IntOf(v)
	if !ok || seq < 1 {
		return 0, 0, false
	}
	if v, has := scope.Attributes().Get(AttrCallsTotal); has {
		callsTotal, _ = IntOf(v)
	}
	return seq, callsTotal, true
}

// ConflictMark is part of the id of an item whose batch number came earlier with other content.
const ConflictMark = "."

// DigestOf returns the digest that a receiver has put on a batch, false if there is none.
func DigestOf(scope pcommon.InstrumentationScope) (digest uint64, ok bool) {
	v, ok := scope.Attributes().Get(AttrBatchDigest)
	if !ok || v.Type() != pcommon.ValueTypeInt {
		return 0, false
	}
	return uint64(v.Int()), true
}

// itemID returns the permanent id of a batch. If its number came earlier with other content,
// the id includes the digest, so that the batch is not dropped as a resend.
func itemID(process string, seq int64, scope pcommon.InstrumentationScope) string {
	if v, ok := scope.Attributes().Get(AttrBatchConflict); ok && v.Bool() {
		digest, _ := DigestOf(scope)
		process += ConflictMark + fmt.Sprintf("%016x", digest)
	}
	return process + "-" + strconv.FormatInt(seq, 10)
}
