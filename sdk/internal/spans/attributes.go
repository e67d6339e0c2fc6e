package spans

const scopeName = "github.com/corehour/corehour/sdk"

// Names of attributes, spans and kinds. They are the contract with the collector.
const (
	AttrKind       = "corehour.kind"
	AttrFunction   = "code.function.name"
	AttrP          = "corehour.p"
	AttrStratum    = "corehour.stratum"
	AttrCaller     = "corehour.caller"
	AttrStack      = "corehour.stack"
	AttrActivated  = "corehour.activated"
	AttrIDs        = "corehour.ids"
	AttrRequestID  = "corehour.request.id"
	AttrGroup      = "corehour.group"
	AttrCPUTime    = "corehour.cpu.time"
	AttrCPUState   = "corehour.cpu.state"
	AttrCPUP       = "corehour.cpu.p"
	AttrCPUWaits   = "corehour.cpu.waits"
	AttrMeasured   = "corehour.measured"
	AttrCPUCount   = "corehour.cpu.measured"
	AttrErrors     = "corehour.errors"
	AttrWall       = "corehour.wall"
	AttrCPU        = "corehour.cpu"
	AttrMethods    = "corehour.counts.methods"
	AttrCalls      = "corehour.counts.calls"
	AttrCores      = "corehour.process.cores"
	AttrLimit      = "corehour.process.cpu_limit"
	AttrHostCores  = "corehour.host.cores"
	AttrRSS        = "corehour.process.rss"
	AttrFinal      = "corehour.process.final"
	AttrCounter    = "corehour.sdk."
	AttrBatch      = "corehour.batch.seq"
	AttrProcessID  = "corehour.process.id"
	AttrCallsTotal = "corehour.calls.total"
	AttrServed     = "corehour.rates.served"

	KindCall      = "call"
	KindAggregate = "aggregate"
	KindCounts    = "counts"
	KindProcess   = "process"

	NameCounts  = "corehour.counts"
	NameProcess = "corehour.process"

	StratumTail  = "tail"
	SyntheticIDs = "synthetic"
)
