package table

// The locks of a warehouse. Readers need none.
const (
	// writerLock is held by the one writer of raw rows for as long as it lives.
	writerLock = "LOCK"
	// maintenanceLock is held by the one Maintainer for as long as it lives.
	maintenanceLock = "LOCK.maintenance"
	// commitLock is held for a commit: from reading CURRENT to replacing it.
	commitLock = "LOCK.commit"
)
