internal import Foundation

extension SessionCore {
    func uploadTask(
        _ session: URLSession, _ request: URLRequest, _ content: UploadContent, _ result: TaskResult,
        delegate: (any URLSessionTaskDelegate)?
    ) -> URLSessionUploadTask {
        makeTask(session, .upload(content), request, request, result, delegate: delegate) {
            URLSessionUploadTask(core: $0)
        }
    }
}
