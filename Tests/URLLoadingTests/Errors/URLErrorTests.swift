import Foundation
import LoadingSemantics
import Testing

@testable import URLLoading

@Suite struct URLErrorTests {
    let url = URL(string: "https://example.com/a?b")!

    // ERR-2, ERR-3
    @Test func userInfoIsComplete() {
        let error = URLError.make(.cannotConnectToHost(111), url: url, taskDescription: "LocalDataTask <1>")
        #expect(error.code == .cannotConnectToHost)
        #expect(error.errorUserInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        #expect(error.errorUserInfo["NSErrorFailingURLStringKey"] as? String == "https://example.com/a?b")
        #expect(error.failingURL == url)
        #expect(error.localizedDescription == "Could not connect to the server.")
        #expect(error.userInfo["_NSURLErrorFailingURLSessionTaskErrorKey"] as? String == "LocalDataTask <1>")
        #expect(error.userInfo["_NSURLErrorRelatedURLSessionTaskErrorKey"] as? [String] == ["LocalDataTask <1>"])
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(underlying?.domain == NSPOSIXErrorDomain)
        #expect(underlying?.code == 111)
        let bare = URLError.make(code: NSURLErrorBadURL, url: nil)
        #expect(Set(bare.userInfo.keys) == [NSLocalizedDescriptionKey])
    }

    // ERR-2: errors are written to logs
    @Test("a password that stands in the address is not in the error") func passwords() throws {
        let url = try #require(URL(string: "https://me:treasure@example.com/a?b"))
        let error = URLError.make(.cannotConnectToHost(111), url: url)
        #expect(error.failingURL?.absoluteString == "https://example.com/a?b")
        #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == "https://example.com/a?b")
        let foreign = ForeignError(URLError(.badServerResponse)).shown(at: url)
        for error in [error, foreign] as [any Error] {
            #expect(!String(reflecting: error).contains("treasure"))
            #expect(!"\((error as NSError).userInfo)".contains("treasure"))
        }
    }

    // ERR-3, ERR-4: what this machine lacks is named
    @Test("a library that is missing") func missingLibrary() {
        let text = "libssl.so.3: cannot open shared object file: No such file or directory"
        let error = URLError.make(.withoutLibrary(text), url: url)
        #expect(error.code == .secureConnectionFailed)
        #expect(error.localizedDescription == "A library could not be loaded: " + text)
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(underlying?.domain == "URLLoadingLibraryErrorDomain")
        #expect(underlying?.localizedDescription == text)
    }

    // ERR-4
    @Test(arguments: [
        (-999, "cancelled"), (-1002, "unsupported URL"), (-1007, "too many HTTP redirects"),
        (-1103, "resource exceeds maximum size"), (-1001, "The request timed out."),
        (-1005, "The network connection was lost."), (-1009, "The Internet connection appears to be offline."),
        (-1003, "A server with the specified hostname could not be found."),
        (-1004, "Could not connect to the server."),
    ])
    func descriptions(_ code: Int, _ text: String) {
        let error: any Error = URLError.make(code: code, url: url)
        #expect(error.localizedDescription == text)
        #expect((error as NSError).domain == NSURLErrorDomain)
        #expect((error as NSError).code == code)
    }

    // ERR-12: the numbers. `BackgroundTransferTests` shows what ends with −996 and −997; nothing does with −995.
    @Test("the codes of background sessions") func backgroundCodes() {
        let codes: [URLError.Code] = [
            .backgroundSessionRequiresSharedContainer, .backgroundSessionInUseByAnotherProcess,
            .backgroundSessionWasDisconnected,
        ]
        #expect(codes.map(\.rawValue) == [-995, -996, -997])
        let numbers: [Int] = [
            NSURLErrorBackgroundSessionRequiresSharedContainer, NSURLErrorBackgroundSessionInUseByAnotherProcess,
            NSURLErrorBackgroundSessionWasDisconnected,
        ]
        #expect(numbers == codes.map(\.rawValue))
        #expect(codes.map { URLError.make(code: $0.rawValue, url: nil).code } == codes)
    }

    // ERR-16: whatever the kernel says
    @Test("no errno becomes −1") func everyErrno() {
        let makers: [(Int32) -> LoadError] = [
            LoadError.connectionAttemptFailed, LoadError.cannotReadFile, LoadError.networkConnectionLost,
            LoadError.cannotCreateFile, LoadError.cannotWriteToFile,
        ]
        for number in Int32(-1)...200 {
            for make in makers { #expect(URLError.make(make(number), url: url).code != .unknown) }
        }
        #expect(URLError.make(.noThread, url: url).code == .cannotLoadFromNetwork)
        #expect(URLError.make(.forkedProcess, url: url).code == .cannotLoadFromNetwork)
        // A number that Foundation has no code for.
        #expect(URLError.make(code: -31_415, url: url).code == .cannotLoadFromNetwork)
    }

    // ERR-16: no line of the library makes it
    @Test("−1 is not in the sources") func sources() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
        let makers: [Regex<Substring>] = [
            /URLError\(\s*\.unknown/, /URLError(?:\.Code)?\.unknown/, /NSURLErrorUnknown/, /code: -1\b/,
            /Code\(rawValue: [^)]*\) \?\? \.unknown/,
        ]
        var count = 0
        var found: [String] = []
        for case let file as URL in FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil) ?? .init()
        {
            guard file.pathExtension == "swift" else { continue }
            count += 1
            let text = try String(contentsOf: file, encoding: .utf8)
            if makers.contains(where: { text.contains($0) }) { found.append(file.lastPathComponent) }
        }
        #expect(found == [])
        #expect(count > 400)
        #expect(makers.contains { "URLError(.unknown)".contains($0) })
    }

    // ERR-1, ERR-16: every number has its code, and none becomes −1
    @Test func codesKeepTheirNumbers() {
        let numbers =
            [-995, -996, -997, -999, -2000] + Array(-1022 ... -1000) + Array(-1103 ... -1100)
            + Array(-1206 ... -1200) + Array(-3007 ... -3000)
        #expect(numbers.map { URLError.make(code: $0, url: nil).code.rawValue } == numbers)
    }

    // ERR-13, ERR-14, RES-12, RES-13
    @Test func accessors() {
        let offline = URLError.make(
            code: NSURLErrorNotConnectedToInternet, url: url, userInfo: [NSURLErrorNetworkUnavailableReasonKey: 1])
        #expect(offline.networkUnavailableReason == .expensive)
        #expect(offline.backgroundTaskCancelledReason == nil)
        let cancelled = URLError.make(
            code: NSURLErrorCancelled, url: url,
            userInfo: [
                NSURLErrorBackgroundTaskCancelledReasonKey: 2, NSURLSessionDownloadTaskResumeData: Data([1]),
                NSURLSessionUploadTaskResumeData: Data([2]),
            ])
        #expect(cancelled.backgroundTaskCancelledReason == .insufficientSystemResources)
        #expect(cancelled.downloadTaskResumeData == Data([1]))
        #expect(cancelled.uploadTaskResumeData == Data([2]))
        #expect(offline.downloadTaskResumeData == nil)
    }

    // ERR-3
    @Test(arguments: [
        (LoadError.Cause.posix(104), NSPOSIXErrorDomain, 104),
        (.tls(code: 7, text: "t"), "URLLoadingTLSErrorDomain", 7),
        (.http("h"), "URLLoadingHTTPErrorDomain", 0), (.ftp(code: 550, text: "f"), "URLLoadingFTPErrorDomain", 550),
        (.dns(-2), "URLLoadingDNSErrorDomain", -2),
        (.cfNetwork(310), "kCFErrorDomainCFNetwork", 310),
    ])
    func causes(_ cause: LoadError.Cause, _ domain: String, _ code: Int) {
        let error = URLError.make(LoadError(code: -1004, cause: cause), url: nil)
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(underlying?.domain == domain)
        #expect(underlying?.code == code)
    }

    @Test func canBeCaughtByName() {
        #expect(throws: URLError.self) { throw URLError.make(code: NSURLErrorTimedOut, url: nil) }
        do { throw URLError.make(code: NSURLErrorTimedOut, url: nil) } catch URLError.timedOut {
        } catch { Issue.record(error) }
    }
}
