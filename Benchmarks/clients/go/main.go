// The Go peer: net/http with one goroutine for each request in flight.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func usage() (user, system float64) {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return seconds(usage.Utime), seconds(usage.Stime)
}

// ru_maxrss survives exec and so may tell the driver's size; VmHWM belongs to this program alone.
func peakResidentKilobytes() (peak int) {
	status, _ := os.ReadFile("/proc/self/status")
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text(), "VmHWM: %d", &peak); n == 1 {
			break
		}
	}
	return peak
}

func send(client *http.Client, url, upload string) (*http.Response, error) {
	if upload == "" {
		return client.Get(url)
	}
	file, err := os.Open(upload)
	if err != nil {
		return nil, err
	}
	// The client closes it.
	request, err := http.NewRequest("POST", url, file)
	if err != nil {
		return nil, err
	}
	status, err := file.Stat()
	if err != nil {
		return nil, err
	}
	request.ContentLength = status.Size()
	return client.Do(request)
}

type meter struct {
	start        time.Time
	user, system float64
}

func startMeter() meter {
	user, system := usage()
	return meter{time.Now(), user, system}
}

func (before meter) report(ended, received, errors int64) {
	user, system := usage()
	fmt.Printf("{\"requests\":%d,\"bytes\":%d,\"seconds\":%f,\"cpu_user\":%f,\"cpu_sys\":%f,"+
		"\"process_cpu_user\":%f,\"process_cpu_sys\":%f,\"peak_rss_kb\":%d,\"errors\":%d}\n",
		ended, received, time.Since(before.start).Seconds(), user-before.user, system-before.system, user, system,
		peakResidentKilobytes(), errors)
	if errors != 0 {
		os.Exit(1)
	}
}

func main() {
	url := flag.String("url", "", "")
	requests := flag.Int64("requests", 1, "")
	concurrency := flag.Int64("concurrency", 1, "")
	connections := flag.Int("connections", 1, "")
	body := flag.Int64("body", 100, "")
	file := flag.String("file", "", "")
	upload := flag.String("upload", "", "")
	version := flag.Int("version", 1, "")
	flag.Parse()

	before := startMeter()
	if strings.HasPrefix(*url, "ws") {
		before.report(echo(*url, *requests, *concurrency, *connections, *body))
		return
	}
	var transport http.RoundTripper = &http.Transport{
		MaxConnsPerHost:     *connections,
		MaxIdleConns:        *connections,
		MaxIdleConnsPerHost: *connections,
	}
	if *version == 3 {
		transport = http3Transport()
	}
	client := &http.Client{Transport: transport}
	var started, ended, received, errors int64
	exchange := func() {
		response, err := send(client, *url, *upload)
		if err != nil {
			atomic.AddInt64(&errors, 1)
			return
		}
		defer response.Body.Close()
		sink := io.Discard
		if *file != "" {
			output, err := os.Create(*file)
			if err != nil {
				atomic.AddInt64(&errors, 1)
				return
			}
			defer output.Close()
			sink = output
		}
		count, err := io.Copy(sink, response.Body)
		atomic.AddInt64(&received, count)
		atomic.AddInt64(&ended, 1)
		if err != nil || response.StatusCode != 200 || count != *body {
			atomic.AddInt64(&errors, 1)
		}
	}
	worker := func() {
		for atomic.AddInt64(&started, 1) <= *requests {
			exchange()
		}
	}
	if *concurrency == 1 {
		worker()
	} else {
		var group sync.WaitGroup
		for i := int64(0); i < *concurrency; i++ {
			group.Add(1)
			go func() {
				defer group.Done()
				worker()
			}()
		}
		group.Wait()
	}
	before.report(ended, received, errors)
}
