package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// GoBuild builds a program of a module into dir and returns its path.
func GoBuild(module, pkg, dir string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg))
	return path, runIn(module, "go", "build", "-o", path, pkg)
}

// BuildShop builds the demo shop with the probes that command compiles in, and returns its path.
func BuildShop(command, dir string) (string, error) {
	path := filepath.Join(dir, "shop")
	return path, runIn(filepath.Join("..", "test", "shop"), command, "go", "--quiet", "--methods", "methods.json", "build", "-o", path, ".")
}

// BuildProbed builds the program in dir with a probe in every function but straight code.
func BuildProbed(command, dir, path string) error {
	return runIn(dir, command, "go", "--quiet", "build", "-o", path, ".")
}

// InstallNode installs the packages pinned by package-lock.json in dir, and returns the path of
// node.
func InstallNode(dir string) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node is missing: Node.js 20 or newer is one of the foreign clients: %w", err)
	}
	return node, installOnce(filepath.Join(dir, "package-lock.json"), filepath.Join(dir, "node_modules"), func() error {
		return runIn(dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	})
}

// InstallPython installs the packages pinned by requirements.txt in dir into a virtual environment
// there, and returns the directory of its programs.
func InstallPython(dir string) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("python3 is missing: Python 3.10 or newer is one of the foreign clients: %w", err)
	}
	venv, err := filepath.Abs(filepath.Join(dir, ".venv"))
	if err != nil {
		return "", err
	}
	bin := filepath.Join(venv, "bin")
	return bin, installOnce(filepath.Join(dir, "requirements.txt"), venv, func() error {
		return errors.Join(
			runIn(dir, python, "-m", "venv", "--clear", venv),
			runIn(dir, filepath.Join(bin, "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", "requirements.txt"))
	})
}

// InstallJars copies the jars listed in pom.xml in dir into a subdirectory, verifies them by
// jars.sha256 and returns that directory.
func InstallJars(dir string) (string, error) {
	jars, err := filepath.Abs(filepath.Join(dir, "jars"))
	if err != nil {
		return "", err
	}
	return jars, installOnce(filepath.Join(dir, "jars.sha256"), jars, func() error {
		if err := runIn(dir, "mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", "-DoutputDirectory="+jars); err != nil {
			return err
		}
		return runIn(jars, "sha256sum", "--check", "--strict", filepath.Join("..", "jars.sha256"))
	})
}

// installOnce runs install unless into holds the result for the current lock file.
func installOnce(lock, into string, install func() error) error {
	text, err := os.ReadFile(lock)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(into, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && strings.TrimSpace(string(have)) == want {
		return nil
	}
	if err := install(); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(want+"\n"), 0o644)
}

func runIn(dir, binary string, args ...string) error {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s in %s: %w\n%s", filepath.Base(binary), strings.Join(args, " "), dir, err, out)
	}
	return nil
}

// Javac compiles a Java file into a directory and returns it.
func Javac(file, into string) (string, error) {
	return into, runIn(filepath.Dir(file), "javac", "-d", into, filepath.Base(file))
}
