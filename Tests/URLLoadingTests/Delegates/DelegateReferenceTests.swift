import Foundation
import Testing

@testable import URLLoading

@Suite struct DelegateReferenceTests {
    let session = URLSession(configuration: .ephemeral)
    let dataTask = URLSessionDataTask()
    let url = URL(string: "https://example.com/")!

    var response: URLResponse {
        URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
    }

    /// Calls `didReceive response`, and returns the answers in order, or nil if the delegate does not implement it.
    private func disposition(from delegate: any URLSessionDelegate) async -> [URLSession.ResponseDisposition]? {
        let (answers, continuation) = AsyncStream.makeStream(of: URLSession.ResponseDisposition.self)
        let reference = DelegateReference(delegate)
        let isAsked = reference.urlSession(session, dataTask: dataTask, didReceive: response) {
            continuation.yield($0)
            continuation.finish()
        }
        guard isAsked else { return nil }
        return await answers.reduce(into: []) { $0.append($1) }
    }

    // S-62, T-67: the second answer of HandlerDelegate is dropped.
    @Test func completionHandlers() async {
        #expect(await disposition(from: HandlerDelegate()) == [.becomeDownload])
        #expect(await disposition(from: LateDelegate()) == [.becomeDownload])
    }

    @Test func asyncMethods() async {
        #expect(await disposition(from: AsyncDelegate()) == [.becomeStream])
        #expect(await disposition(from: AsyncDelegate()) == [.becomeStream])
    }

    @Test func mainActorClasses() async {
        let delegate = await MainActorDelegate()
        #expect(await disposition(from: delegate) == [.cancel])
    }

    // T-66: the first event of a class is decided at once, and later ones cost no call.
    @Test func absentMethods() async {
        #expect(await disposition(from: EmptyDelegate()) == nil)
        #expect(await disposition(from: EmptyDelegate()) == nil)
        let reference = DelegateReference(EmptyDelegate())
        #expect(reference.lacks([.dataTaskDidReceiveResponse, .dataTaskDidReceiveResponseAsync]))
        #expect(await disposition(from: SessionOnlyDelegate()) == nil)
        #expect(await disposition(from: DownloadDelegate()) == nil)
    }

    @Test func conformanceInExtension() {
        let reference = DelegateReference(ExtendedDelegate())
        nonisolated(unsafe) var answers: [URLRequest?] = []
        let redirect = HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil)!
        let isAsked = reference.urlSession(
            session, task: dataTask, willPerformHTTPRedirection: redirect, newRequest: URLRequest(url: url)
        ) { answers.append($0) }
        #expect(isAsked)
        #expect(answers == [nil])
    }

    @Test func subclasses() async {
        #expect(await disposition(from: BaseDelegate()) == [.allow])
        #expect(await disposition(from: OverridingDelegate()) == [.cancel])
    }

    /// A delegate that forwards to one without the method gives the default answer.
    @Test func forwardedDefaultsAnswer() async {
        #expect(await disposition(from: ForwardingDelegate(EmptyDelegate())) == [.allow])
        #expect(await disposition(from: ForwardingDelegate(HandlerDelegate())) == [.becomeDownload])
    }

    @Test func plainEvents() {
        let delegate = HandlerDelegate()
        let reference = DelegateReference(delegate)
        #expect(reference.urlSession(session, dataTask: dataTask, didReceive: Data([1, 2, 3])))
        #expect(delegate.bytes == 3)
        #expect(!reference.urlSession(session, task: dataTask, didCompleteWithError: nil))
        #expect(reference.lacks(.taskDidComplete))
        #expect(!reference.lacks(.dataTaskDidReceiveData))
        #expect(!reference.urlSession(session, didBecomeInvalidWithError: nil))
    }

    // S-55: the caller learns that the session-level method is missing and asks the task-level one.
    @Test func challengesFallBackFromSessionToTask() async {
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com", port: 443, protocol: "https", realm: nil,
                authenticationMethod: NSURLAuthenticationMethodServerTrust),
            proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil)
        let reference = DelegateReference(AsyncDelegate())
        #expect(!reference.urlSession(session, didReceive: challenge) { _, _ in })
        let answer = await withCheckedContinuation { continuation in
            let isAsked = reference.urlSession(session, task: dataTask, didReceive: challenge) { disposition, _ in
                continuation.resume(returning: disposition)
            }
            #expect(isAsked)
        }
        #expect(answer == .rejectProtectionSpace)
    }

    // T-24
    @Test func eachMethodFallsThroughOnItsOwn() {
        let own = HandlerDelegate()
        let common = HandlerDelegate()
        let delegates = TaskDelegates(own: DelegateReference(ExtendedDelegate()), session: DelegateReference(common))
        #expect(delegates.offer { $0.urlSession(session, dataTask: dataTask, didReceive: Data([1])) })
        #expect(common.bytes == 1)
        let nearer = TaskDelegates(own: DelegateReference(own), session: DelegateReference(common))
        #expect(nearer.offer { $0.urlSession(session, dataTask: dataTask, didReceive: Data([1, 2])) })
        #expect((own.bytes, common.bytes) == (2, 1))
        #expect(!nearer.offer { $0.urlSession(session, task: dataTask, didCompleteWithError: nil) })
        #expect(nearer.lack(.taskDidComplete))
        #expect(TaskDelegates(own: nil, session: nil).lack(.dataTaskDidReceiveData))
    }

    // T-51
    @Test func bodyStreams() async {
        for (delegate, byte) in [
            (StreamDelegateWithHandler() as any URLSessionDelegate, UInt8(1)), (StreamDelegateWithAsync(), 2),
        ] {
            let reference = DelegateReference(delegate)
            let read = await withCheckedContinuation { (continuation: CheckedContinuation<UInt8?, Never>) in
                let isAsked = reference.urlSession(session, needNewBodyStreamForTask: dataTask) { stream in
                    stream?.open()
                    var buffer: [UInt8] = [0]
                    let count = stream?.read(&buffer, maxLength: 1)
                    continuation.resume(returning: count == 1 ? buffer[0] : nil)
                }
                #expect(isAsked)
            }
            #expect(read == byte)
        }
        #expect(!DelegateReference(EmptyDelegate()).urlSession(session, needNewBodyStreamForTask: dataTask) { _ in })
    }

    @Test func everyMethodHasABitOfItsOwn() {
        let all: DelegateMethod = [.taskMethods, .dataMethods, .downloadMethods, .streamMethods, .webSocketMethods]
        #expect(all.rawValue == (1 << 35) - 16)
        #expect(DelegateMethod.taskMethods.contains([.taskDidCreate, .taskDidComplete]))
        #expect(!DelegateMethod.taskMethods.contains(.dataTaskDidReceiveResponse))
        #expect(DelegateMethod.dataMethods.contains([.dataTaskDidReceiveResponse, .dataTaskWillCacheResponseAsync]))
        #expect(!DelegateMethod.dataMethods.contains(.downloadTaskDidWriteData))
    }
}
