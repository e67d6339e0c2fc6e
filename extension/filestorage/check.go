package filestorage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// checkVariable contains the path of a file if this process is the one that checks it.
const checkVariable = "COREHOUR_CHECK_STORED_QUEUE"

// Exit codes of the checking process. A panic of bbolt and a fault of mapped memory exit with 2.
const (
	exitDamaged = 1
	exitSkipped = 3
)

// The checking process is the same program. It ends here.
func init() {
	path, ok := os.LookupEnv(checkVariable)
	if !ok {
		return
	}
	err := rebuild(path)
	if err == nil {
		os.Exit(0)
	}
	fmt.Println(err)
	if system := syscall.Errno(0); errors.Is(err, bbolterrors.ErrTimeout) || errors.As(err, &system) { // in use, no permission, a full disk
		os.Exit(exitSkipped)
	}
	os.Exit(exitDamaged)
}

// rebuild reads all pages and values of a file and replaces it by a copy with new pages: some kinds of damage are
// harmless to a reader and end a writer. It prints a line if one of the two meta pages is damaged.
func rebuild(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	go boundMemory(uint64(128<<20 + 2*info.Size()))
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("the file has %d bytes of %d", info.Size(), tx.Size())
		}
		for err := range tx.Check() {
			return err
		}
		if tx.Bucket([]byte("default")) == nil && tx.Size() > int64(4*db.Info().PageSize) {
			return errors.New("the bucket of the queue is missing")
		}
		return checkCounts(tx, file, int64(db.Info().PageSize))
	}); err != nil {
		return err
	}
	for n := range 2 {
		if !metaIsWhole(file, n*db.Info().PageSize) {
			fmt.Printf("meta page %d has a wrong checksum\n", n)
		}
	}
	copied, err := bbolt.Open(copyOf(path), info.Mode().Perm(), &bbolt.Options{NoFreelistSync: true, NoSync: true})
	if err != nil {
		return err
	}
	const transaction = 1 << 20 // bytes
	for _, step := range []func() error{
		func() error { return bbolt.Compact(copied, db, transaction) }, copied.Sync, copied.Close, db.Close, file.Close,
		func() error { return os.Rename(copyOf(path), path) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// boundMemory ends the process as for damage if it uses more memory than a whole file can need: bbolt notes each page
// that a node claims to extend over, up to 2^32 of them.
func boundMemory(most uint64) {
	var used runtime.MemStats
	for range time.Tick(20 * time.Millisecond) {
		if runtime.ReadMemStats(&used); used.HeapAlloc > most {
			fmt.Printf("reading it takes more than %d bytes of memory\n", most)
			os.Exit(exitDamaged)
		}
	}
}

// checkCounts compares the number of elements of each page with the place where the data of the first one begins. A
// number that is too low hides requests.
func checkCounts(tx *bbolt.Tx, file *os.File, pageSize int64) error {
	const header, element = 16, 16 // bytes
	for id := int64(2); id < tx.Size()/pageSize; id++ {
		page, err := tx.Page(int(id))
		if err != nil {
			return err
		}
		if page.Type == "free" {
			continue
		}
		var first [element]byte
		if _, err := file.ReadAt(first[:], id*pageSize+header); err != nil {
			return err
		}
		begin := first[:4]
		if page.Type == "leaf" {
			begin = first[4:8] // after the flags
		}
		if got := binary.NativeEndian.Uint32(begin); int(got) != page.Count*element {
			return fmt.Errorf("page %d has %d elements and data from %d on", id, page.Count, got)
		}
		id += int64(page.OverflowCount)
	}
	return nil
}

// metaIsWhole compares the checksum of the meta page at an offset. Where it is wrong, bbolt uses the other meta page,
// which lacks the last transaction or is the newer one.
func metaIsWhole(file *os.File, at int) bool {
	const header, size, checksum = 16, 64, 56
	meta := make([]byte, size)
	if _, err := file.ReadAt(meta, int64(at+header)); err != nil {
		return false
	}
	sum := fnv.New64a()
	sum.Write(meta[:checksum])
	return binary.NativeEndian.Uint64(meta[checksum:]) == sum.Sum64()
}

func copyOf(path string) string { return path + ".copy" }
