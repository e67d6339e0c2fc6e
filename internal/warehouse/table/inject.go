package table

// Injector is called before and after each file system operation of a commit, for tests of other
// packages. op is mkdir, create, write, sync, rename, sync directory or remove. If it returns an error
// before the operation, the operation is not done; a write is done by half. If it returns an error after
// the operation, the operation took effect although it returns the error. It can also end the process.
type Injector func(op, path string, after bool) error

// Inject returns the options with fault injection. Operations use the real disk, but do not wait for it.
func (o Options) Inject(i Injector) Options {
	o.disk = &injected{inject: i}
	return o
}

type injected struct {
	osDisk
	inject Injector
}

func (d *injected) step(op, path string, do func() error) error {
	if err := d.inject(op, path, false); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return d.inject(op, path, true)
}

func (d *injected) mkdir(path string) error {
	return d.step("mkdir", path, func() error { return d.osDisk.mkdir(path) })
}

func (d *injected) rename(from, to string) error {
	return d.step("rename", to, func() error { return d.osDisk.rename(from, to) })
}

func (d *injected) syncDir(path string) error {
	return d.step("sync directory", path, func() error { return nil })
}

func (d *injected) remove(path string) error {
	return d.step("remove", path, func() error { return d.osDisk.remove(path) })
}

func (d *injected) create(path string) (diskFile, error) {
	if err := d.inject("create", path, false); err != nil {
		return nil, err
	}
	f, err := d.osDisk.create(path)
	if err != nil {
		return nil, err
	}
	if err := d.inject("create", path, true); err != nil {
		f.Close()
		return nil, err
	}
	return &injectedFile{diskFile: f, disk: d, path: path}, nil
}

type injectedFile struct {
	diskFile
	disk *injected
	path string
}

func (f *injectedFile) Write(p []byte) (int, error) {
	half := len(p) / 2
	n, err := f.diskFile.Write(p[:half])
	if err != nil {
		return n, err
	}
	if err := f.disk.inject("write", f.path, false); err != nil {
		return n, err
	}
	rest, err := f.diskFile.Write(p[half:])
	if err == nil {
		err = f.disk.inject("write", f.path, true)
	}
	return n + rest, err
}

func (f *injectedFile) Sync() error {
	return f.disk.step("sync", f.path, func() error { return nil })
}
