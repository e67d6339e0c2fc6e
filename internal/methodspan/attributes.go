package methodspan

// Names of span attributes. A unit is part of the name or in the comment.
const (
	// AttrKind marks corehour spans; its values are the Kind constants.
	AttrKind = "corehour.kind"

	AttrFunction  = "code.function.name" // fully qualified, the identity of a method
	AttrSignature = "corehour.signature"

	// Older OpenTelemetry names of the identity, still sent by some SDKs.
	AttrOldNamespace = "code.namespace"
	AttrOldFunction  = "code.function"

	AttrCPUTime  = "corehour.cpu.time"  // int ns, present only if exact
	AttrCPUState = "corehour.cpu.state" // a CPUState
	AttrP        = "corehour.p"         // probability that the call was timed
	AttrCPUP     = "corehour.cpu.p"     // probability that the CPU of a timed call was timed
	AttrStratum  = "corehour.stratum"   // StratumTail or absent
	AttrCaller   = "corehour.caller"    // normalised class.method, or CallerEntry; absent = unknown
	AttrStack    = "corehour.stack"     // folded
	AttrRequest  = "corehour.request.id"
	AttrGroup    = "corehour.group"
	AttrIDs      = "corehour.ids" // IDsSynthetic: the ids only satisfy OTLP and are not stored

	// Sums on aggregate spans, times in ns.
	AttrWallSum     = "corehour.wall.sum"
	AttrWallSquares = "corehour.wall.sum_squares"
	AttrWallMax     = "corehour.wall.max"
	AttrWallBins    = "corehour.wall.bins"
	AttrWallCounts  = "corehour.wall.counts"
	AttrCPUSum      = "corehour.cpu.sum"
	AttrCPUSquares  = "corehour.cpu.sum_squares"
	AttrCPUMax      = "corehour.cpu.max"
	AttrCPUBins     = "corehour.cpu.bins"
	AttrCPUCounts   = "corehour.cpu.counts"
	AttrMeasured    = "corehour.measured"
	AttrCPUMeasured = "corehour.cpu.measured"
	AttrErrors      = "corehour.errors"

	// AttrActivated is true if a caller activated the method less than a minute before.
	AttrActivated = "corehour.activated"
	// AttrCPUWaits counts how often CPU-timed calls gave up the processor.
	AttrCPUWaits = "corehour.cpu.waits"

	// A counts span carries many methods on the wire, in two arrays. The receiver
	// expands it into one span with AttrCalls for each method.
	AttrCountsMethods = "corehour.counts.methods"
	AttrCountsCalls   = "corehour.counts.calls"
	AttrCalls         = "corehour.calls"

	AttrProcessCores = "corehour.process.cores"
	AttrProcessLimit = "corehour.process.cpu_limit" // cores the container can use; absent = no limit
	AttrHostCores    = "corehour.host.cores"
	AttrProcessRSS   = "corehour.process.rss"
	AttrProcessFinal = "corehour.process.final"
	// AttrSDKPrefix is the prefix of the SDK's own counters on a process span.
	AttrSDKPrefix = "corehour.sdk."

	// Written by the collector. Prices depend only on the resource and are written
	// there, once per request. A price on a span overrides the resource's.
	AttrWeightBasis    = "corehour.weight_basis"
	AttrTier           = "corehour.tier"
	AttrReason         = "corehour.reason"
	AttrConfiguredRate = "corehour.rate.configured"
	AttrEffectiveRate  = "corehour.rate.effective" // the probability after sampling; absent = AttrP
	AttrPrice          = "corehour.usd_per_core_hour"
	AttrPriceSource    = "corehour.price.source"
	AttrPreviewCPU     = "corehour.preview.cpu_ns"
	AttrPreviewUSD     = "corehour.preview.usd"
)

// Names of scope attributes in every export request of the corehour SDK.
const (
	AttrBatchDigest   = "corehour.batch.digest"   // digest of the content, set by the first receiver
	AttrBatchConflict = "corehour.batch.conflict" // set by a receiver if the number came earlier with other content
	AttrProcessID     = "corehour.process.id"     // random id of one process
	AttrBatchSeq      = "corehour.batch.seq"
	AttrCallsTotal    = "corehour.calls.total"

	// AttrRatesServed is true while the process uses rates served by any collector.
	AttrRatesServed = "corehour.rates.served"
)

// Names of resource attributes.
const (
	ResourceServiceNamespace = "service.namespace"
	ResourceService          = "service.name"
	ResourceVersion          = "service.version"
	ResourceInstance         = "service.instance.id"
	ResourceEnvironment      = "deployment.environment.name"
	ResourceOldEnvironment   = "deployment.environment"
	ResourceRevision         = "vcs.ref.head.revision"
	ResourceHost             = "host.name"
	ResourceHostID           = "host.id"
	ResourceNodeUID          = "k8s.node.uid"
	ResourceNode             = "k8s.node.name"
	ResourceHostType         = "host.type"
	ResourceCloudProvider    = "cloud.provider"
	ResourceRegion           = "cloud.region"
	ResourceCapacityType     = "corehour.capacity_type" // on-demand, spot, reserved ...: no convention exists
	ResourceProcessStart     = "process.creation.time"  // RFC 3339
	ResourceLanguage         = "telemetry.sdk.language" // go, java, nodejs ...
	ResourceSDK              = "telemetry.sdk.name"

	// AttrInstance is a resource attribute that the receiver adds if a stock SDK sends no
	// service.instance.id.
	AttrInstance = "corehour.instance"
	// MayBeMerged is the prefix of an AttrInstance that several processes can share.
	MayBeMerged = "~"
)

// Values with a fixed spelling.
const (
	KindCall      = "call"
	KindCounts    = "counts"
	KindAggregate = "aggregate"
	KindProcess   = "process"

	LevelRaw    = "raw"
	LevelMinute = "minute"
	LevelHour   = "hour"

	CPUExact       = "exact"
	CPUNotSampled  = "not_sampled"
	CPUUntrusted   = "untrusted"
	CPUUnavailable = "unavailable"

	BasisExact      = "exact"      // corehour SDK: counts are exact, p is known
	BasisThreshold  = "threshold"  // p was read from the trace state
	BasisInherited  = "inherited"  // p comes from the span's root or another ancestor
	BasisLegacy     = "legacy"     // p was read from the older form of the trace state, ot=p:N
	BasisServed     = "served"     // p is the rate this collector serves to the SDK
	BasisEstimated  = "estimated"  // p was estimated from the ids of kept traces
	BasisConfigured = "configured" // p was configured for the service
	BasisAssumed    = "assumed"    // p is unknown

	StratumTail  = "tail"
	CallerEntry  = "(entry)"
	IDsSynthetic = "synthetic"

	// Overflow replaces every name beyond a bound.
	Overflow = "(overflow)"
)

// AssumedRemedy is the advice for users whose spans have BasisAssumed.
const AssumedRemedy = "use a consistent sampler, rates served by sampling_rates, or assumed_rates of the receiver"
