package table

// Lock files of a warehouse. Readers need no lock.
const (
	// writerLock is held by the single Writer until it is closed.
	writerLock = "LOCK"
	// maintenanceLock is held by the single Maintainer until it is closed.
	maintenanceLock = "LOCK.maintenance"
	// commitLock is held during a commit: from reading CURRENT to replacing it.
	commitLock = "LOCK.commit"
)
