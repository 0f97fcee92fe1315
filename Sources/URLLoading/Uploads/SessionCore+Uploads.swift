internal import Foundation

extension SessionCore {
    func uploadTask(
        _ session: URLSession, _ request: URLRequest, _ content: UploadContent, _ result: TaskResult,
        delegate: (any URLSessionTaskDelegate)?
    ) -> URLSessionUploadTask? {
        let known = if case .file(let url) = content { UploadContent.of(url) } else { content }
        return makeTask(session, .upload(known, nil), request, request, result, delegate: delegate) {
            URLSessionUploadTask(core: $0)
        }
    }

    /// An upload task that resumes an earlier upload. Invalid data creates a task that fails with −1002 (RES-8,
    /// RES-13).
    func uploadTask(
        _ session: URLSession, resuming data: Data, _ result: TaskResult, delegate: (any URLSessionTaskDelegate)?
    ) -> URLSessionUploadTask? {
        let known = UploadResumeData(data)
        let request = known?.request ?? .withoutURL
        return makeTask(
            session, .upload(known?.content ?? .data(Data()), known?.stopped), request, request, result,
            delegate: delegate
        ) { URLSessionUploadTask(core: $0) }
    }
}
