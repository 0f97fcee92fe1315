import BackgroundTransfers
import LoadingPipeline
import Testing

@testable import URLSessionCommandCore

/// What `background` shows, from values to text.
@Suite struct BackgroundPictureTests {
    static func transfer(
        _ task: Int, _ status: ListedTransfer.Status = .running, session: String = "photos", received: Int64 = 0,
        of expected: Int64 = -1, url: String = "https://h/a", isUpload: Bool = false
    ) -> ListedTransfer {
        var progress = TransferProgress()
        progress.received = received
        progress.toReceive = expected
        return ListedTransfer(
            reference: TransferReference(application: "backup", session: session, task: task), url: url,
            isUpload: isUpload, taskDescription: nil, status: status, progress: progress)
    }

    private static let plain = TransferTable(style: TextStyle(isColored: false), isUTF8: true, columns: nil)

    @Test func table() {
        var running = Self.transfer(1, .running, received: 1 << 20, of: 4 << 20)
        running.bytesPerSecond = 2048
        let transfers = [
            running,
            Self.transfer(12, .retrying(at: 112, code: -1001), received: 300, url: "https://h/b"),
            Self.transfer(3, .finished, session: "x", received: 10, of: 10, url: "https://h/\u{1B}[2Jc"),
        ]
        #expect(
            Self.plain.lines(transfers, now: 100)
                == [
                    "APPLICATION  SESSION  TASK  STATE                    PROGRESS      SIZE        RATE  URL",
                    "backup       photos      1  running                   25%      4.00 MiB  2.00 KiB/s  https://h/a",
                    "backup       photos     12  retries in 0:12 (-1001)  -            300 B           -  https://h/b",
                    "backup       x           3  done                     100%          10 B           -  https://h/^[[2Jc",
                ])
    }

    @Test func liveTable() {
        let transfers = [Self.transfer(1, .running, received: 1 << 20, of: 4 << 20), Self.transfer(2, .queued)]
        let rates = [transfers[0].reference: 2048.0]
        #expect(
            Self.plain.lines(transfers, rates: rates, now: 0) == [
                "APPLICATION  SESSION  TASK  STATE    PROGRESS              SIZE        RATE  URL",
                "backup       photos      1  running  ▕██▌       ▏ 25%  4.00 MiB  2.00 KiB/s  https://h/a",
                "backup       photos      2  queued   -                      0 B           -  https://h/a",
            ])
    }

    @Test(arguments: [20, 40, 60, 79, 80, 81, 200]) func fitsTheTerminal(_ columns: Int) {
        let long = Self.transfer(
            1, session: String(repeating: "s", count: 50), received: 5, of: 10,
            url: "https://h/" + String(repeating: "u", count: 300))
        for isUTF8 in [true, false] {
            let table = TransferTable(style: TextStyle(isColored: false), isUTF8: isUTF8, columns: columns)
            for line in table.lines([long], rates: [:], now: 0) { #expect(line.count < columns) }
        }
        let colored = TransferTable(style: TextStyle(isColored: true), isUTF8: true, columns: 60)
            .lines([long], now: 0)
        #expect(colored[1].contains("\u{1B}[32mrunning\u{1B}[0m"))
    }

    @Test(arguments: [
        (ListedTransfer.Status.suspended, "suspended", "suspended"), (.queued, "queued", "queued"),
        (.running, "running", "running"), (.waitingUntil(3700), "starts in 1:00:00", "waitingUntil"),
        (.waitingUntil(50), "starts in 0:00", "waitingUntil"),
        (.waitingForNetwork, "no network", "waitingForNetwork"), (.waitingForPower, "on battery", "waitingForPower"),
        (.waitingForUnmeteredNetwork, "metered network", "waitingForUnmeteredNetwork"),
        (.waitingForApplication, "needs its program", "waitingForApplication"),
        (.retrying(at: 160, code: -1005), "retries in 1:00 (-1005)", "retrying"), (.finished, "done", "finished"),
        (.failed(code: -999), "failed (-999)", "failed"),
    ])
    func states(_ status: ListedTransfer.Status, _ short: String, _ key: String) {
        let text = TransferStateText(status, now: 100)
        #expect(text.short == short && text.key == key)
    }

    @Test func json() {
        let transfer = Self.transfer(1, .retrying(at: 160, code: -1005), received: 5, url: "https://h/ä")
        #expect(
            TransferJSON.text([transfer], now: 100) == """
                [
                  {
                    "application" : "backup",
                    "code" : -1005,
                    "date" : 160,
                    "id" : "backup/photos/1",
                    "kind" : "download",
                    "received" : 5,
                    "sent" : 0,
                    "session" : "photos",
                    "state" : "retrying",
                    "task" : 1,
                    "url" : "https://h/ä"
                  }
                ]

                """)
        #expect(TransferJSON.text([], now: 0) == "[\n\n]\n")
    }

    @Test func secrets() {
        let transfer = Self.transfer(1, url: "https://me:pass@h/a?token=secret")
        let shown = "https://[redacted]@h/a?token=[redacted]"
        #expect(Self.plain.lines([transfer], now: 0).last?.hasSuffix(shown) == true)
        #expect(TransferDetails.text(transfer, now: 0, isUTF8: true).contains("  Download   \(shown)\n"))
        #expect(LiveTransfers.line(transfer, after: 0, now: 0, isUTF8: true).hasSuffix("  \(shown)\n"))
        let url = "https://%5Bredacted%5D@h/a?token=%5Bredacted%5D"
        #expect(TransferJSON.text([transfer], now: 0).contains("\"url\" : \"\(url)\""))
    }

    @Test func details() {
        var transfer = Self.transfer(1, .retrying(at: 160, code: -1001), received: 1024, of: 2048)
        transfer.taskDescription = "big\nfile"
        #expect(
            TransferDetails.text(transfer, now: 100, isUTF8: true) == """
                backup/photos/1
                  Download   https://h/a
                  Name       big^Jfile
                  State      retries in 1:00 (-1001)
                  Error      \(TransferStateText.words(for: -1001))
                  Received   1.00 KiB of 2.00 KiB
                  Sent       0 B

                """)
    }

    @Test func history() {
        let transfer = Self.transfer(1, .finished, received: 2048, of: 2048)
        let history = [
            TransferEvent(.resumed, at: 0), TransferEvent(.began(offset: 0), at: 10),
            TransferEvent(.failed(code: -1005), at: 70), TransferEvent(.began(offset: 1024), at: 71),
            TransferEvent(.suspended, at: 80), TransferEvent(.ended(code: nil), at: 101),
            TransferEvent(.ended(code: -999), at: 40),
        ]
        #expect(
            TransferDetails.text(transfer, history: history, now: 100, isUTF8: true)
                .split(separator: "\n").dropFirst(5).map(String.init) == [
                    "  History", "          1:40 ago  resumed", "          1:30 ago  an attempt begins",
                    "          0:30 ago  failed, and is tried again: \(TransferStateText.words(for: -1005)) (-1005)",
                    "          0:29 ago  an attempt goes on after 1.00 KiB", "          0:20 ago  suspended",
                    "          0:00 ago  done",
                    "          1:00 ago  ended: \(TransferStateText.words(for: -999)) (-999)",
                ])
    }

    @Test func selection() throws {
        let all = [Self.transfer(1), Self.transfer(2), Self.transfer(2, session: "a/b")]
        func find(_ names: String...) -> Result<[Int], UsageError> {
            do throws(UsageError) {
                return .success(try TransferSelection.find(names, among: all).compactMap(all.firstIndex))
            } catch {
                return .failure(error)
            }
        }
        #expect(find("1") == .success([0]))
        #expect(find("photos/2", "backup/a/b/2", "photos/2") == .success([1, 2]))
        #expect(find("a/b/2") == .success([2]))
        #expect(find("2") == .failure(UsageError("'2' names 2 transfers: backup/photos/2, backup/a/b/2")))
        #expect(
            find("7")
                == .failure(
                    UsageError(
                        "there is no background transfer '7': 'urlsession background list' shows all",
                        exitCode: .unavailable)))
    }

    @Test func watching() {
        var watched = WatchedTransfers()
        let one = Self.transfer(1, received: 0, of: 100)
        #expect(watched.picture(Self.plain, rows: 10, now: 0) == ["No background transfers."])
        #expect(watched.apply(.transfers([one, Self.transfer(2, .suspended)]), time: 0).count == 2)
        #expect(watched.apply(.changed(Self.transfer(1, received: 50, of: 100)), time: 0.5) == [])
        watched.tick(time: 1)
        #expect(watched.rates == [one.reference: 50])
        // Progress goes back: the rate begins again (S-96).
        watched.apply(.changed(Self.transfer(1, received: 10, of: 100)), time: 1)
        #expect(watched.rates == [one.reference: 0])
        #expect(watched.apply(.changed(Self.transfer(1, .finished)), time: 2) == [Self.transfer(1, .finished)])
        #expect(watched.rates == [:])
        #expect(watched.sorted(now: 0).map(\.reference.task) == [2, 1])
        watched.apply(.removed(one.reference), time: 3)
        #expect(watched.sorted(now: 0).map(\.reference.task) == [2])
    }

    @Test func manyTransfers() {
        var watched = WatchedTransfers()
        watched.apply(.transfers((1...50).map { Self.transfer($0, .queued) } + [Self.transfer(99)]), time: 0)
        let picture = watched.picture(Self.plain, rows: 10, now: 0)
        #expect(picture.count == 10 && picture[1].contains(" 99  running") && picture[9] == "and 43 more")
        #expect(watched.picture(Self.plain, rows: 52, now: 0).count == 52)
    }

    @Test func drawing() {
        #expect(LiveTransfers.replacing(0, by: ["a"]) == "a\u{1B}[K\n\u{1B}[J")
        #expect(LiveTransfers.replacing(3, by: ["a", "b"]) == "\u{1B}[3A\ra\u{1B}[K\nb\u{1B}[K\n\u{1B}[J")
        #expect(
            LiveTransfers.line(Self.transfer(1), after: 1.25, now: 0, isUTF8: true)
                == "     +1.3 s  running  backup/photos/1  https://h/a\n")
    }

    @Test func units() {
        let units = ServiceUnits(command: ["/opt/a \"b\"%/urlsession", "background", "serve"])
        #expect(units.service.contains("\nExecStart=\"/opt/a \\\"b\\\"%%/urlsession\" \"background\" \"serve\"\n"))
        #expect(units.socket.contains("\nListenStream=%t/swift-url-loading/urlsessiond.socket\n"))
        for text in [units.socket, units.service] { #expect(text.hasPrefix(ServiceUnits.mark + "\n[Unit]\n")) }
    }

    @Test func refusals() {
        let newer = BackgroundCommand.error(ServiceRefusal.version(oldest: 7, newest: 9, program: "/usr/bin/x"))
        #expect(
            newer.message == "the background service (/usr/bin/x, versions 7 to 9) is newer: update urlsession")
        let older = BackgroundCommand.error(ServiceRefusal.version(oldest: 0, newest: 0, program: "/usr/bin/x"))
        #expect(
            older.message == "the background service is older than this command: end /usr/bin/x, and it is started anew"
        )
        #expect(newer.exitCode == .unavailable && older.exitCode == .unavailable)
    }

    @Test func targets() throws {
        #expect(try BackgroundAddition.target(of: "h/a.iso", .file("/x/y"), isOneOfMany: false) == "/x/y")
        #expect(try BackgroundAddition.target(of: "h/a.iso", .file("/tmp"), isOneOfMany: true) == "/tmp/a.iso")
        #expect(try BackgroundAddition.target(of: "h/a.iso", .file("/tmp/"), isOneOfMany: false) == "/tmp/a.iso")
        #expect(throws: UsageError.self) {
            try BackgroundAddition.target(of: "h/a", .file("/nowhere/"), isOneOfMany: false)
        }
        #expect(throws: UsageError.self) { try BackgroundAddition.target(of: "h/a", .file("/x"), isOneOfMany: true) }
    }
}
