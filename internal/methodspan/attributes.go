package methodspan

// Names of span attributes. Units are in the names or said next to them.
const (
	// AttrKind tells our spans apart; its values are the Kind constants.
	AttrKind = "corehour.kind"

	AttrFunction  = "code.function.name" // fully qualified, the identity of a method
	AttrSignature = "corehour.signature"

	// Older form of the identity, still sent by some SDKs.
	AttrOldNamespace = "code.namespace"
	AttrOldFunction  = "code.function"

	AttrCPUTime  = "corehour.cpu.time"  // int ns, present only if exact
	AttrCPUState = "corehour.cpu.state" // a CPUState
	AttrP        = "corehour.p"         // probability that the call was timed
	AttrCPUP     = "corehour.cpu.p"     // probability that its CPU was timed, given that
	AttrStratum  = "corehour.stratum"   // StratumTail or absent
	AttrCaller   = "corehour.caller"    // normalised class.method, CallerEntry, or absent = unknown
	AttrStack    = "corehour.stack"     // folded
	AttrRequest  = "corehour.request.id"
	AttrGroup    = "corehour.group"
	AttrIDs      = "corehour.ids" // IDsSynthetic: invented for OTLP's sake, not stored

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

	// AttrActivated: a caller switched the method on less than a minute before.
	AttrActivated = "corehour.activated"
	// AttrCPUWaits is how often the calls whose CPU was timed gave up the processor.
	AttrCPUWaits = "corehour.cpu.waits"

	// A counts span carries many methods on the wire (two arrays); the
	// receiver expands it to one span per method that carries AttrCalls.
	AttrCountsMethods = "corehour.counts.methods"
	AttrCountsCalls   = "corehour.counts.calls"
	AttrCalls         = "corehour.calls"

	AttrProcessCores = "corehour.process.cores"
	AttrProcessLimit = "corehour.process.cpu_limit" // cores that the container may use; absent = no limit
	AttrHostCores    = "corehour.host.cores"
	AttrProcessRSS   = "corehour.process.rss"
	AttrProcessFinal = "corehour.process.final"
	// AttrSDKPrefix starts the SDK's own counters on a process span.
	AttrSDKPrefix = "corehour.sdk."

	// Stamped in the collector. Prices depend on the resource alone, so they
	// are stamped there, once per request; on a span they override it.
	AttrWeightBasis    = "corehour.weight_basis"
	AttrTier           = "corehour.tier"
	AttrReason         = "corehour.reason"
	AttrConfiguredRate = "corehour.rate.configured"
	AttrEffectiveRate  = "corehour.rate.effective" // of older samplers; absent = AttrP
	AttrPrice          = "corehour.usd_per_core_hour"
	AttrPriceSource    = "corehour.price.source"
	AttrPreviewCPU     = "corehour.preview.cpu_ns"
	AttrPreviewUSD     = "corehour.preview.usd"
)

// Names of scope attributes of every export request of our SDK.
const (
	AttrBatchDigest   = "corehour.batch.digest"   // of the content as it came to the first receiver, which sets it
	AttrBatchConflict = "corehour.batch.conflict" // set by a receiver where other content came with the number before
	AttrProcessID     = "corehour.process.id"     // random, of one process
	AttrBatchSeq      = "corehour.batch.seq"
	AttrCallsTotal    = "corehour.calls.total"

	// AttrRatesServed is true while the process goes by rates that a collector
	// served, this one or another.
	AttrRatesServed = "corehour.rates.served"
)

// Names of resource attributes that a row keeps.
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

	// AttrInstance is a resource attribute of the receiver's, in the place of
	// service.instance.id where a stock SDK sends none.
	AttrInstance = "corehour.instance"
	// MayBeMerged begins a name of it that several processes may have.
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

	BasisExact      = "exact"      // our SDK: counts are exact, p is known
	BasisThreshold  = "threshold"  // p was read from the trace state
	BasisInherited  = "inherited"  // p is that of the span's root, or of another ancestor
	BasisLegacy     = "legacy"     // p was read from the older form of the trace state, ot=p:N
	BasisServed     = "served"     // p is the rate this collector serves to the SDK
	BasisEstimated  = "estimated"  // p follows from the trace ids that were kept
	BasisConfigured = "configured" // p is what the configuration says of the service
	BasisAssumed    = "assumed"    // nothing is known of p

	StratumTail  = "tail"
	CallerEntry  = "(entry)"
	IDsSynthetic = "synthetic"

	// Overflow stands for every name beyond a bound.
	Overflow = "(overflow)"
)

// AssumedRemedy is what makes the probability of spans known that have BasisAssumed.
const AssumedRemedy = "use a consistent sampler, rates served by sampling_rates, or assumed_rates of the receiver"
