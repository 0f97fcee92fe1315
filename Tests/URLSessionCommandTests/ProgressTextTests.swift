import Testing

@testable import URLSessionCommandCore

/// The progress line.
@Suite struct ProgressTextTests {
    @Test func known() {
        let half = ProgressText(received: 128 << 20, expected: 256 << 20, bytesPerSecond: 64 * 1_048_576, elapsed: 2)
        #expect(
            half.line(columns: 80, isUTF8: true)
                == " 50% ▕██████████████              ▏  128 MiB of 256 MiB  64.0 MiB/s  0:02 left")
        #expect(
            half.line(columns: 80, isUTF8: false)
                == " 50% [##############..............]  128 MiB of 256 MiB  64.0 MiB/s  0:02 left")
    }

    @Test(arguments: 1...120)
    func neverReachesTheLastColumn(_ columns: Int) {
        for (received, expected) in [(0, 10), (10, 10), (11, 10), (5_000_000, 123_456_789), (7, -1)] as [(Int64, Int64)]
        {
            let text = ProgressText(received: received, expected: expected, bytesPerSecond: 1234, elapsed: 1)
            #expect(text.line(columns: columns, isUTF8: true).count < columns)
            #expect(text.line(columns: columns, isUTF8: false).count < columns)
        }
    }

    @Test func unknownLength() {
        let text = ProgressText(received: 1_234_567, expected: -1, bytesPerSecond: 0, elapsed: 61)
        #expect(text.line(columns: 80, isUTF8: true) == "1.18 MiB  -  1:01")
    }

    @Test func withoutASpeedThereIsNoRemainingTime() {
        let text = ProgressText(received: 0, expected: 1000, bytesPerSecond: 0, elapsed: 0)
        #expect(
            text.line(columns: 40, isUTF8: false)
                == "  0%  0 B of 1000 B  -  -:-- left".replacing("1000 B", with: "0.98 KiB"))
    }

    @Test func speedIsSmoothed() {
        var meter = RateMeter()
        var rates: [Double] = []
        for tick in 1...4 {
            meter.add(count: tick < 3 ? Int64(tick) * 100 : 200, time: Double(tick) * 0.5)
            rates.append(meter.bytesPerSecond)
        }
        #expect(rates == [200, 200, 150, 112.5])
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (1024, "1.00 KiB"), (10_240, "10.0 KiB"),
            (102_400, "100 KiB"), (1_048_576, "1.00 MiB"), (Int64.max, "8.00 EiB"), (-5, "0 B"),
        ] as [(Int64, String)])
    func bytes(_ count: Int64, _ text: String) {
        #expect(Quantity.bytes(count) == text)
    }

    @Test(
        arguments: [
            (0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3723, "1:02:03"), (1e9, "-:--"), (.infinity, "-:--"),
        ] as [(Double, String)])
    func clock(_ seconds: Double, _ text: String) {
        #expect(Quantity.clock(seconds) == text)
    }

    @Test(
        arguments: [
            (1.005, 1, "1.0"), (0.96, 1, "1.0"), (-0.04, 1, "0.0"), (-1.5, 2, "-1.50"), (2, 0, "2"), (.nan, 2, "?"),
        ] as [(Double, Int, String)])
    func fixed(_ value: Double, _ digits: Int, _ text: String) {
        #expect(Quantity.fixed(value, digits) == text)
    }

    /// With a line for the others, and that of the cursor, all fit.
    @Test(arguments: [(nil, 20), (50, 20), (23, 20), (22, 20), (21, 19), (4, 2), (3, 1), (1, 1)] as [(Int?, Int)])
    func linesOfTheBoard(_ rows: Int?, _ count: Int) {
        #expect(ProgressBoard.mostTransfers(inRows: rows) == count)
    }

    @Test("no bar on a dumb terminal", arguments: [false, true]) func dumbTerminal(_ movesCursor: Bool) throws {
        var command = CommandLineRequest(url: "http://h/")
        command.destination = .file("f")
        let transfer = try Transfer(
            command, terminal: Terminal(errorIsTerminal: true, movesCursor: movesCursor), shared: LoadSeries.Shared(),
            retrying: RetryPolicy(RetryOptions()), since: 0)
        #expect((transfer.progress != nil) == movesCursor)
    }

    @Test(arguments: [
        (nil, nil, "de_DE.UTF-8", true), (nil, "C", "de_DE.UTF-8", false), ("C.utf8", "C", nil, true),
        ("", "", "en_US.UTF-8", true), ("C", nil, "en_US.UTF-8", false), (nil, nil, nil, false),
        ("ca_ES.UTF-8@valencia", nil, nil, true),
    ])
    func locale(_ all: String?, _ characters: String?, _ language: String?, _ isUTF8: Bool) {
        #expect(Terminal.isUTF8(all: all, characters: characters, language: language) == isUTF8)
    }
}
