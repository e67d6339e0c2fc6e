package corehour

// Names of what travels. They are the contract with the collector.
const (
	attrKind       = "corehour.kind"
	attrFunction   = "code.function.name"
	attrP          = "corehour.p"
	attrStratum    = "corehour.stratum"
	attrCaller     = "corehour.caller"
	attrStack      = "corehour.stack"
	attrIDs        = "corehour.ids"
	attrRequestID  = "corehour.request.id"
	attrGroup      = "corehour.group"
	attrCPUTime    = "corehour.cpu.time"
	attrCPUState   = "corehour.cpu.state"
	attrCPUP       = "corehour.cpu.p"
	attrMeasured   = "corehour.measured"
	attrCPUCount   = "corehour.cpu.measured"
	attrErrors     = "corehour.errors"
	attrWall       = "corehour.wall"
	attrCPU        = "corehour.cpu"
	attrMethods    = "corehour.counts.methods"
	attrCalls      = "corehour.counts.calls"
	attrCores      = "corehour.process.cores"
	attrLimit      = "corehour.process.cpu_limit"
	attrHostCores  = "corehour.host.cores"
	attrRSS        = "corehour.process.rss"
	attrFinal      = "corehour.process.final"
	attrCounter    = "corehour.sdk."
	attrBatch      = "corehour.batch.seq"
	attrCallsTotal = "corehour.calls.total"
	attrServed     = "corehour.rates.served"

	kindCall      = "call"
	kindAggregate = "aggregate"
	kindCounts    = "counts"
	kindProcess   = "process"

	nameCounts  = "corehour.counts"
	nameProcess = "corehour.process"

	stratumTail  = "tail"
	syntheticIDs = "synthetic"
)
